//! Redzones between the variables of the program: nobody's memory, which no access may touch.
//!
//! The driver leaves room behind each variable. Here it is found by the table of symbols: bytes behind a
//! variable, as many as there should be, in which no symbol is. What is linked as it is, without such room,
//! has none of these bytes, or nobody uses them.

use std::ops::Range;

use mazurka_program::AccessKind;
use object::{Object, ObjectSymbol, SymbolKind};

use super::shadow::REDZONE;
use crate::driver::{ElfFile, redzone_size};
use crate::runtime::threads::runtime::Runtime;

/// What aligning the next variable may add to the room behind one, and less than what has no symbol there.
const MOST_PADDING: usize = 32;

/// A redzone between two variables. Addresses are relative to where the object is loaded.
pub(crate) struct Redzone {
    range: Range<usize>,
    /// The variable before it, and that behind it.
    before: Range<usize>,
    behind: Option<Range<usize>>,
}

/// The redzones of an object; none if it has no table of symbols.
pub(crate) fn redzones(file: &ElfFile<'_>) -> Vec<Redzone> {
    let symbols = file.symbols().filter(|symbol| symbol.is_definition() && symbol.kind() != SymbolKind::Tls);
    let mut symbols: Vec<(Range<usize>, bool)> = symbols
        .map(|symbol| {
            let (start, size) = (symbol.address() as usize, symbol.size() as usize);
            (start..start + size, symbol.kind() == SymbolKind::Data && size > 0)
        })
        .collect();
    symbols.sort_by_key(|(range, _)| (range.start, range.end));
    between(&symbols)
}

/// The room between symbols, which are in the order of their addresses, each with whether it is a variable.
fn between(symbols: &[(Range<usize>, bool)]) -> Vec<Redzone> {
    let mut redzones = Vec::new();
    let mut covered = 0;
    for (at, (before, is_variable)) in symbols.iter().enumerate() {
        covered = covered.max(before.end);
        if !is_variable || covered > before.end {
            continue;
        }
        // Others may have the same address: what counts is what begins where this one ends, or later.
        let next = symbols[at + 1..].iter().find(|(range, _)| range.start >= before.end);
        let end = before.end + redzone_size(before.len() as u64) as usize;
        let overlapped = symbols[at + 1..]
            .iter()
            .take_while(|(range, _)| range.start < before.end)
            .any(|(range, _)| range.end > before.end);
        let start_of_next = next.map_or(usize::MAX, |(range, _)| range.start);
        if overlapped || start_of_next < end {
            continue;
        }
        let end = if start_of_next - end < MOST_PADDING { start_of_next } else { end };
        let behind = next.filter(|(_, is_variable)| *is_variable).map(|(range, _)| range.clone());
        redzones.push(Redzone { range: before.end..end, before: before.clone(), behind });
    }
    redzones
}

impl Runtime {
    /// Marks the redzones in the shadow.
    pub(crate) fn mark_redzones(&mut self) {
        let (base, variables) = (self.execution.image.base, self.execution.image.variables.clone());
        for Redzone { range, .. } in &self.execution.image.redzones {
            let (start, end) = (base + range.start, (base + range.end).min(variables.end));
            if variables.contains(&start) {
                self.search.shadow.words(start, end - start).fill(REDZONE);
            }
        }
    }

    /// Ends the running thread if so many bytes are not all of one variable.
    pub(crate) fn check_variable(&mut self, address: usize, size: usize, place: usize, kind: AccessKind) {
        if !self.execution.image.variables.contains(&address) {
            return;
        }
        let words = self.search.shadow.words(address, size);
        let Some(first) = words.iter().position(|&word| word == REDZONE).map(|at| address + at) else {
            return;
        };
        let at = first - self.execution.image.base;
        let after = self.execution.image.redzones.partition_point(|redzone| redzone.range.start <= at);
        let Some(Redzone { before, behind, range }) =
            after.checked_sub(1).map(|last| &self.execution.image.redzones[last])
        else {
            return;
        };
        let name =
            |range: &Range<usize>| self.memory_name(self.execution.image.base + range.start, range.len());
        // What is nearer is more likely to have been meant.
        let distance = behind.as_ref().map(|next| next.start.saturating_sub(at));
        let fault = match behind {
            Some(next) if distance < Some(at - range.start) => {
                format!("{} byte(s) before {}", distance.unwrap_or(0), name(next))
            }
            _ => {
                let past = address + size - self.execution.image.base - before.end;
                format!("{past} byte(s) past the end of {}", name(before))
            }
        };
        self.fail_access(&fault, place, kind)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(symbols: &[(usize, usize, bool)]) -> Vec<Range<usize>> {
        let symbols: Vec<(Range<usize>, bool)> =
            symbols.iter().map(|&(start, size, is_variable)| (start..start + size, is_variable)).collect();
        between(&symbols).into_iter().map(|redzone| redzone.range).collect()
    }

    #[test]
    fn room_is_what_no_symbol_is_in() {
        // Two variables with room behind each; the second has another name too.
        assert_eq!(found(&[(0, 4, true), (48, 16, true), (48, 16, true)]), [4..48, 64..96, 64..96]);
        // No room, and less than there should be.
        assert_eq!(found(&[(0, 4, true), (4, 4, true), (16, 4, false)]), Vec::<Range<usize>>::new());
        // A symbol that covers another, and one without a size in the room behind it.
        assert_eq!(found(&[(0, 64, true), (0, 8, true), (80, 0, false)]), Vec::<Range<usize>>::new());
        // What is no variable may be larger than it says.
        assert_eq!(found(&[(0, 64, false)]), Vec::<Range<usize>>::new());
    }
}
