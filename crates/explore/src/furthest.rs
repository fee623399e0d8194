//! The share of a search that is behind us, as it is told: it never goes back.
//!
//! What a search knows of it may. One that begins again has nothing behind it, and where branches are counted as they
//! are found, more may turn up than were done. Then the share that was told stays, until the search has come further.

/// The largest share that was told.
#[derive(Default)]
pub(crate) struct Furthest(f64);

impl Furthest {
    /// What is to be told where the search knows this share.
    pub fn at(&mut self, share: f64) -> f64 {
        self.0 = self.0.max(share);
        self.0
    }
}
