//! Random programs of two threads that do all kinds of things with handles of one `Arc`, against brute force.
#![allow(unsafe_code)]

use crate::brute::agree;
use mazurka::sync::{Arc, Weak};
use mazurka::thread;

#[derive(Clone, Copy, Debug)]
enum Deed {
    Clone,
    Drop,
    Count,
    GetMut,
    Downgrade,
    Upgrade,
    IntoRaw,
    FromRaw,
    Increment,
    Decrement,
    WeakIntoRaw,
    WeakFromRaw,
}

const DEEDS: [Deed; 12] = [
    Deed::Clone,
    Deed::Drop,
    Deed::Count,
    Deed::GetMut,
    Deed::Downgrade,
    Deed::Upgrade,
    Deed::IntoRaw,
    Deed::FromRaw,
    Deed::Increment,
    Deed::Decrement,
    Deed::WeakIntoRaw,
    Deed::WeakFromRaw,
];

/// What a thread has: handles of all kinds.
struct Handles {
    strong: Vec<Arc<u32>>,
    weak: Vec<Weak<u32>>,
    raw: Vec<*const u32>,
    raw_weak: Vec<*const u32>,
}

// SAFETY: pointers are handles of what is shared.
unsafe impl Send for Handles {}

impl Handles {
    fn new(handle: Arc<u32>) -> Handles {
        Handles { strong: vec![handle], weak: Vec::new(), raw: Vec::new(), raw_weak: Vec::new() }
    }

    /// Does something if it can; adds what was seen.
    fn act(&mut self, deed: Deed, seen: &mut String) {
        match deed {
            Deed::Clone => self.strong.extend(self.strong.last().cloned()),
            Deed::Drop => drop(self.strong.pop()),
            Deed::Count => {
                let counts = self.strong.last().map(|arc| (Arc::strong_count(arc), Arc::weak_count(arc)));
                *seen += &format!("{counts:?}");
            }
            Deed::GetMut => {
                let unique = self.strong.last_mut().map(|arc| Arc::get_mut(arc).is_some());
                *seen += &format!("{unique:?}");
            }
            Deed::Downgrade => self.weak.extend(self.strong.last().map(Arc::downgrade)),
            Deed::Upgrade => {
                let upgraded = self.weak.last().and_then(Weak::upgrade);
                *seen += if upgraded.is_some() { "up" } else { "gone" };
                self.strong.extend(upgraded);
            }
            Deed::IntoRaw => self.raw.extend(self.strong.pop().map(Arc::into_raw)),
            // SAFETY: they are handles that were made pointers, each once; and those that are there when a
            // count is incremented.
            Deed::FromRaw => self.strong.extend(self.raw.pop().map(|raw| unsafe { Arc::from_raw(raw) })),
            Deed::Increment => {
                if let Some(pointer) = self.raw.last().copied().or(self.strong.last().map(Arc::as_ptr)) {
                    // SAFETY: as above.
                    unsafe { Arc::increment_strong_count(pointer) };
                    self.raw.push(pointer);
                }
            }
            Deed::Decrement => {
                if let Some(pointer) = self.raw.pop() {
                    // SAFETY: as above.
                    unsafe { Arc::decrement_strong_count(pointer) };
                }
            }
            Deed::WeakIntoRaw => self.raw_weak.extend(self.weak.pop().map(Weak::into_raw)),
            Deed::WeakFromRaw => {
                // SAFETY: as above.
                self.weak.extend(self.raw_weak.pop().map(|raw| unsafe { Weak::from_raw(raw) }));
            }
        }
    }

    /// Drops all of them.
    fn end(mut self) {
        while !self.raw.is_empty() {
            self.act(Deed::Decrement, &mut String::new());
        }
        while !self.raw_weak.is_empty() {
            self.act(Deed::WeakFromRaw, &mut String::new());
        }
    }
}

/// Numbers that look random.
struct Numbers(u64);

impl Numbers {
    fn below(&mut self, bound: usize) -> usize {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) as usize % bound
    }
}

fn program(deeds: [Vec<Deed>; 2]) -> impl Fn() -> String + Clone + Send + Sync + 'static {
    move || {
        let own = Arc::new(1);
        let [first, second] = [own.clone(), own].map(Handles::new);
        let run = |mut handles: Handles, deeds: &[Deed]| {
            let mut seen = String::new();
            deeds.iter().for_each(|&deed| handles.act(deed, &mut seen));
            handles.end();
            seen
        };
        let theirs = deeds[1].clone();
        let child = thread::spawn(move || run(second, &theirs));
        let seen = run(first, &deeds[0]);
        format!("{seen} {}", child.join().unwrap())
    }
}

#[test]
fn random_handles_agree_with_brute_force() {
    let mut compared = 0;
    for seed in 0..40 {
        let mut numbers = Numbers(seed);
        let deeds = [3, 3].map(|length| (0..length).map(|_| DEEDS[numbers.below(DEEDS.len())]).collect());
        compared += u32::from(agree(program(deeds), 2_000));
    }
    assert!(compared >= 20, "only {compared} programs were small enough");
}
