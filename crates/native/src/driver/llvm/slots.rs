//! Variables that are not needed any more are wiped.
//!
//! Without optimisation every variable and every intermediate result has a place in the frame of its function,
//! and keeps there what it held last. Whether a loop has come back to where it was is told from the frame: what
//! nobody will read again would make one state many. So where the compiler's code shows that a variable will
//! not be read before it is written again, nothing is stored there. Only variables are meant that are loaded
//! and stored by their names and nothing else: nobody else can know of them, and no announcement is made of
//! them.

use std::collections::HashMap;

/// What a line does to a variable.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Use {
    Load,
    Store,
}

/// The variables that lines use, by line.
type Uses = HashMap<usize, (usize, Use)>;

struct Slot<'a> {
    kind: &'a str,
    align: &'a str,
}

/// Lines between two labels: where they begin and end, and where they may go on.
struct Block {
    start: usize,
    end: usize,
    next: Vec<usize>,
}

/// What a function may have that makes it too hard to see where it goes on.
const OPAQUE: [&str; 7] =
    ["indirectbr ", "callbr ", "catchswitch ", "cleanupret ", "catchret ", "setjmp", "returns_twice"];

/// The lines of a function, with what wipes its variables put in.
pub fn wipe_dead(lines: Vec<String>) -> Vec<String> {
    let wipes = wipes(&lines).unwrap_or_default();
    if wipes.is_empty() {
        return lines;
    }
    let mut wiped = Vec::with_capacity(lines.len() + wipes.len());
    let mut wipes = wipes.into_iter().peekable();
    for (at, line) in lines.into_iter().enumerate() {
        wiped.push(line);
        while let Some((_, wipe)) = wipes.next_if(|(after, _)| *after == at) {
            wiped.push(wipe);
        }
    }
    wiped
}

/// What is to be put in behind which lines, in order; none if it can't be told.
fn wipes(lines: &[String]) -> Option<Vec<(usize, String)>> {
    if lines.iter().any(|line| OPAQUE.iter().any(|word| line.contains(word))) {
        return None;
    }
    let (slots, uses) = slots(lines);
    if slots.is_empty() {
        return Some(Vec::new());
    }
    let blocks = blocks(lines)?;
    let live_in = live_in(&blocks, &uses, slots.len());
    let live_out = |block: &Block| {
        let mut live = vec![false; slots.len()];
        for &next in &block.next {
            live.iter_mut().zip(&live_in[next]).for_each(|(live, known)| *live |= known);
        }
        live
    };
    let wipe = |slot: usize| {
        let Slot { kind, align } = &slots[slot].1;
        format!("  store {kind} zeroinitializer, ptr {}, align {align}", slots[slot].0)
    };
    let mut wipes = Vec::new();
    for (at, block) in blocks.iter().enumerate() {
        let mut live = live_out(block);
        // One that another way out of the block before needs, and this one does not.
        let before = blocks.iter().filter(|before| before.next.contains(&at)).map(live_out);
        let needed = before.fold(vec![false; slots.len()], |mut needed, live| {
            needed.iter_mut().zip(live).for_each(|(needed, live)| *needed |= live);
            needed
        });
        for line in (block.start..block.end).rev() {
            let Some(&(slot, used)) = uses.get(&line) else { continue };
            if !live[slot] {
                wipes.push((line, wipe(slot)));
            }
            live[slot] = used == Use::Load;
        }
        let first = first_free_line(lines, block);
        let dead = (0..slots.len()).filter(|&slot| needed[slot] && !live_in[at][slot]);
        wipes.extend(dead.filter_map(|slot| Some((first.checked_sub(1)?, wipe(slot)))));
    }
    wipes.sort_by_key(|(after, _)| *after);
    Some(wipes)
}

/// The variables of a function that are only loaded and stored, with their names; and the lines that do so.
fn slots(lines: &[String]) -> (Vec<(&str, Slot<'_>)>, Uses) {
    let mut known: HashMap<&str, Option<Slot<'_>>> = HashMap::new();
    for line in lines {
        known.extend(declared(line).map(|(name, slot)| (name, Some(slot))));
    }
    let mut uses = Vec::new();
    for (at, line) in lines.iter().enumerate() {
        let text = line.trim_start();
        let is_remark = text.starts_with("#dbg_") || text.contains("@llvm.dbg.");
        if is_remark || declared(line).is_some() {
            continue;
        }
        let used = access(text);
        for name in names(text) {
            let Some(slot) = known.get_mut(name) else { continue };
            match used {
                Some((pointer, kind, used))
                    if pointer == name && slot.as_ref().is_some_and(|slot| slot.kind == kind) =>
                {
                    uses.push((at, name, used));
                }
                _ => *slot = None,
            }
        }
    }
    let mut slots: Vec<(&str, Slot<'_>)> =
        known.into_iter().filter_map(|(name, slot)| Some((name, slot?))).collect();
    // The same program has the same object each time it is built: its hash is what workers are told to accept.
    slots.sort_unstable_by_key(|(name, _)| *name);
    let numbers: HashMap<&str, usize> = slots.iter().enumerate().map(|(at, slot)| (slot.0, at)).collect();
    let uses = uses.into_iter().filter_map(|(at, name, used)| Some((at, (*numbers.get(name)?, used))));
    let uses = uses.collect();
    (slots, uses)
}

/// A variable of one word: `%5 = alloca i32, align 4`.
fn declared(line: &str) -> Option<(&str, Slot<'_>)> {
    let (name, rest) = line.trim_start().split_once(" = alloca ")?;
    let (kind, rest) = rest.split_once(", align ")?;
    let align = rest.split([',', ' ']).next()?;
    let is_word = ["i1", "i8", "i16", "i32", "i64", "ptr", "float", "double"].contains(&kind);
    is_word.then_some((name, Slot { kind, align }))
}

/// The variable that a line loads or stores, if that is all it does with one, and its type.
fn access(text: &str) -> Option<(&str, &str, Use)> {
    let (before, rest) = text.split_once(", ptr ")?;
    let pointer = rest.split([',', ' ']).next()?;
    if let Some(stored) = before.strip_prefix("store ") {
        let (kind, value) = stored.split_once(' ')?;
        return (value != pointer).then_some((pointer, kind, Use::Store));
    }
    let (_, kind) = before.split_once(" = load ")?;
    Some((pointer, kind, Use::Load))
}

/// The names of values in a line, `%5` and `%"a b"`.
fn names(text: &str) -> impl Iterator<Item = &str> {
    text.match_indices('%').filter_map(move |(at, _)| {
        let rest = &text[at + 1..];
        let end = match rest.strip_prefix('"') {
            Some(quoted) => quoted.find('"')? + 2,
            None => {
                let is_part = |c: char| c.is_ascii_alphanumeric() || "._$-".contains(c);
                rest.find(|c| !is_part(c)).unwrap_or(rest.len())
            }
        };
        Some(&text[at..at + 1 + end])
    })
}

/// The name that a line gives to the block behind it.
fn label(line: &str) -> Option<&str> {
    let line = line.split(';').next().unwrap_or_default().trim_end();
    line.strip_suffix(':').filter(|name| !name.is_empty() && !line.starts_with(' '))
}

/// The blocks of a function; none if one goes on where there is no block.
fn blocks(lines: &[String]) -> Option<Vec<Block>> {
    let mut starts: Vec<(Option<&str>, usize)> = vec![(None, 0)];
    starts.extend(lines.iter().enumerate().filter_map(|(at, line)| Some((Some(label(line)?), at + 1))));
    let numbers: HashMap<&str, usize> =
        starts.iter().enumerate().filter_map(|(at, start)| Some((start.0?, at))).collect();
    let ends = starts.iter().skip(1).map(|start| start.1 - 1).chain([lines.len()]);
    let mut blocks = Vec::new();
    for (&(_, start), end) in starts.iter().zip(ends) {
        let mut next = Vec::new();
        for line in &lines[start..end] {
            for (at, _) in line.match_indices("label %") {
                let name = names(&line[at..]).next()?.trim_start_matches('%');
                next.push(*numbers.get(name)?);
            }
        }
        next.sort_unstable();
        next.dedup();
        blocks.push(Block { start, end, next });
    }
    Some(blocks)
}

/// Of each block the variables that will be read from its start on, before they are written.
fn live_in(blocks: &[Block], uses: &Uses, slots: usize) -> Vec<Vec<bool>> {
    let mut live_in = vec![vec![false; slots]; blocks.len()];
    let mut changes = true;
    while changes {
        changes = false;
        for (at, block) in blocks.iter().enumerate().rev() {
            let mut live = vec![false; slots];
            for &next in &block.next {
                live.iter_mut().zip(&live_in[next]).for_each(|(live, known)| *live |= known);
            }
            for line in (block.start..block.end).rev() {
                if let Some(&(slot, used)) = uses.get(&line) {
                    live[slot] = used == Use::Load;
                }
            }
            changes |= live != live_in[at];
            live_in[at] = live;
        }
    }
    live_in
}

/// The first line of a block that may have something put in before it: some have to come first.
fn first_free_line(lines: &[String], block: &Block) -> usize {
    let must_be_first = |line: &&String| {
        let text = line.trim_start();
        let continues = ["cleanup", "catch ", "filter ", "#dbg_"].iter().any(|word| text.starts_with(word));
        continues || text.contains(" = phi ") || text.contains(" = landingpad ")
    };
    block.start + lines[block.start..block.end].iter().take_while(must_be_first).count()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn wiped(text: &str) -> Vec<String> {
        let lines = wipe_dead(text.lines().map(str::to_owned).collect());
        lines.iter().map(|line| line.trim().to_owned()).collect()
    }

    #[test]
    fn what_is_not_read_again_is_wiped() {
        let lines = wiped(
            "  %2 = alloca i32, align 4
  %3 = alloca ptr, align 8
  %4 = alloca i32, align 4
    #dbg_declare(ptr %2, !42, !DIExpression(), !43)
  store i32 1, ptr %4, align 4
  br label %7
7:                ; preds = %0, %9
  %8 = call i32 @f(ptr %3)
  store i32 %8, ptr %2, align 4, !dbg !28
  %9 = load i32, ptr %2, align 4
  %10 = load i32, ptr %4, align 4
  br i1 %10, label %7, label %\"the end\"
\"the end\":
  ret void",
        );
        let at = |text: &str| lines.iter().position(|line| line == text);
        let wipe = "store i32 zeroinitializer, ptr %2, align 4";
        assert_eq!(at(wipe), at("%9 = load i32, ptr %2, align 4").map(|at| at + 1), "{lines:#?}");
        let wipe = "store i32 zeroinitializer, ptr %4, align 4";
        assert_eq!(at(wipe), at("\"the end\":").map(|at| at + 1), "read in the loop: {lines:#?}");
        assert!(!lines.iter().any(|line| line.contains("zeroinitializer, ptr %3")), "its address is taken");
        assert_eq!(lines.iter().filter(|line| line.contains("zeroinitializer")).count(), 2, "{lines:#?}");
    }

    #[test]
    fn volatile_variables_and_opaque_functions_are_left_alone() {
        for text in [
            "  %2 = alloca i32, align 4\n  store volatile i32 1, ptr %2, align 4\n  ret void",
            "  %2 = alloca i32, align 4\n  store i32 1, ptr %2, align 4\n  call i32 @_setjmp(ptr @b)\n  ret void",
            "  %2 = alloca ptr, align 8\n  store ptr %2, ptr %2, align 8\n  ret void",
            "  %2 = alloca i32, align 4\n  store i8 1, ptr %2, align 4\n  ret void",
            "  %2 = alloca i32, align 4\n  store i32 1, ptr %2, align 4\n  br label %9",
        ] {
            assert_eq!(wiped(text).len(), text.lines().count(), "{text}");
        }
        let stored = wiped("  %2 = alloca i32, align 4\n  store i32 1, ptr %2, align 4\n  ret void");
        assert_eq!(stored.len(), 4, "nobody reads it");
    }
}
