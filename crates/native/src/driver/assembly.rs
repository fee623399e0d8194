//! Inline assembly of the well-known kinds: exchanges, additions and the like with `lock`, loads and stores,
//! fences.
//!
//! Compilers do not look into it, so its accesses of memory are announced here: before an instruction that
//! accesses memory a call is put into the text that the compiler writes for the assembler, where operands are
//! what they are. The instruction itself stays. No other thread runs between the announcement and it, so it
//! is one step. What is put in changes no register and no flag. In the place of an instruction that is not
//! known there is a call that refuses it: headers have many that no execution comes to.

/// Instructions that do nothing under sequential consistency.
const IDLE: &str = "\
    nop pause rep lfence sfence prefetch prefetchw prefetchnta prefetcht0 prefetcht1 prefetcht2";

/// Instructions that read and write their last operand at once, with `lock`; `xchg` has that of itself.
const UPDATES: &str = "\
    xadd add sub inc dec and or xor neg not adc bts btr btc cmpxchg cmpxchg8b cmpxchg16b xchg";

/// Instructions that read memory, or write it if it is their last operand.
const MOVES: &str = "mov movz movs";
const READS: &str = "cmp test bt";

/// Instructions on registers alone. What kind of machine it is (`cpuid`) does not change while it runs; what
/// time it is (`rdtsc`) does.
const REGISTERS: &str = "\
    sete setz setne setnz setc setb setnc setae setl setle setg setge seta setbe sbb lea bsf bsr tzcnt lzcnt \
    popcnt bswap shl shr sar rol ror imul cmov cpuid xgetbv";

const FENCE: &str = "mfence";

/// Whether inline assembly does something, by its text: newlines and tabs are escaped as in C or in LLVM.
pub fn is_active(template: &str) -> bool {
    let lines = template.replace("\\0A", "\n").replace("\\n", "\n").replace("\\09", " ").replace("\\t", " ");
    let lines = lines.to_lowercase();
    let word = |instruction: &str| instruction.split_whitespace().next().unwrap_or_default().to_owned();
    !instructions(&lines).all(|instruction| is_one_of(IDLE, &word(instruction)))
}

fn refusal(what: &str) -> String {
    format!(
        "inline assembly (`{}`) is not supported: it is of no kind that is known; use the compiler's \
         built-in operations (`__atomic_...`)",
        what.trim()
    )
}

/// The instructions of a text, a prefix as one of its own.
fn instructions(text: &str) -> impl Iterator<Item = &str> {
    text.split(['\n', ';'])
        .flat_map(|part| {
            let part = part.trim();
            match part.split_once([' ', '\t']) {
                Some(("lock" | "rep", rest)) => [&part[..part.len() - rest.len()], rest.trim()],
                _ => [part, ""],
            }
        })
        .map(str::trim)
        .filter(|part| !part.is_empty())
}

/// Whether a word is one of a list, with or without the letter for the size.
fn is_one_of(list: &str, word: &str) -> bool {
    list.split_whitespace().any(|name| is(name, word))
}

fn is(name: &str, word: &str) -> bool {
    let rest = match word.strip_prefix(name) {
        Some(rest) => rest,
        None => return false,
    };
    // `movzbl` has two letters, and `cmovne` a condition.
    match name {
        "movz" | "movs" => rest.len() == 2 || rest.len() == 1,
        "cmov" => !rest.is_empty(),
        _ => rest.is_empty() || rest.len() == 1 && "bwlq".contains(rest),
    }
}

/// Puts announcements into the text of a file for the assembler.
pub fn announce(text: &str, optimised: bool) -> String {
    let mut out = String::with_capacity(text.len() * 5 / 4);
    let (mut inside, mut locked) = (false, false);
    for line in text.lines() {
        let trimmed = line.trim_start();
        if trimmed.starts_with("#APP") {
            inside = true;
        } else if trimmed.starts_with("#NO_APP") {
            inside = false;
        }
        if !inside || trimmed.starts_with(['#', '.']) {
            out += line;
            out.push('\n');
            continue;
        }
        for instruction in instructions(trimmed.split('#').next().unwrap_or_default()) {
            if instruction.eq_ignore_ascii_case("lock") {
                locked = true;
                continue;
            }
            out += &announced(instruction, locked, optimised).unwrap_or_else(|why| refused(&why));
            locked = false;
        }
    }
    out
}

/// Refuses what stands there when it is come to.
fn refused(why: &str) -> String {
    let why = why.replace('\\', "\\\\").replace('"', "\\\"").replace('\t', " ");
    format!(
        "\tleaq 77f(%rip), %rdi\n\tandq $-16, %rsp\n\tcall mazurka_refused_here\n\
         \t.pushsection .rodata\n77:\t.asciz \"{why}\"\n\t.popsection\n"
    )
}

/// An instruction with what is to come before it and after it.
fn announced(instruction: &str, locked: bool, optimised: bool) -> Result<String, String> {
    let prefix = if locked { "lock " } else { "" };
    let plain = format!("\t{prefix}{instruction}\n");
    let (word, rest) = instruction.split_once([' ', '\t']).unwrap_or((instruction, ""));
    let word = &*word.to_lowercase();
    if word == FENCE {
        return Ok(format!("{}{plain}", call(None, "fence")));
    }
    let known = [UPDATES, MOVES, READS, REGISTERS, IDLE];
    if !known.iter().any(|list| is_one_of(list, word)) {
        return Err(refusal(instruction));
    }
    let operands = operands(rest);
    // Without operands it copies strings; a bit whose number is in a register may be in another word.
    let copies = is_one_of(MOVES, word) && operands.is_empty();
    let elsewhere =
        is_one_of("bt bts btr btc", word) && operands.first().is_some_and(|one| one.starts_with('%'));
    if copies || elsewhere && operands.iter().any(|operand| is_memory(operand)) {
        return Err(refusal(instruction));
    }
    let memory: Vec<usize> = (0..operands.len()).filter(|&at| is_memory(operands[at])).collect();
    let (Some(&at), None) = (memory.first(), memory.get(1)) else {
        return if memory.is_empty() { Ok(plain) } else { Err(refusal(instruction)) };
    };
    if is("lea", word) || is_one_of(IDLE, word) {
        return Ok(plain);
    }
    let place = operands[at];
    if place.contains(':') {
        return Err(refusal(instruction));
    }
    let last = at + 1 == operands.len();
    let size = size_of(word, &operands).ok_or_else(|| refusal(instruction))?;
    let way = if is_one_of(UPDATES, word) && (locked || is("xchg", word)) {
        "update"
    } else if is_one_of(MOVES, word) {
        if last { "write" } else { "read" }
    } else if is_one_of(READS, word) || is_one_of(UPDATES, word) && !last {
        "read"
    } else if is_one_of("sete setz setne setnz setc setb setnc setae", word) {
        "write"
    } else {
        return Err(format!(
            "inline assembly (`{instruction}`) is not supported: without `lock` it is no one step"
        ));
    };
    let optimised = if optimised { "_optimised" } else { "" };
    let given = given_registers(word, &operands);
    let before = call(Some((place, given)), &format!("{way}{size}{optimised}"));
    let after = if way == "update" { call(None, "done") } else { String::new() };
    Ok(format!("{before}{plain}{after}"))
}

/// The registers that an instruction may be given something in and that calls do not preserve, by number.
pub(crate) const GIVEN: [&str; 9] = ["ax", "cx", "dx", "si", "8", "9", "10", "11", "di"];

/// The registers that an instruction reads, besides those of addresses, as bits by number.
fn given_registers(word: &str, operands: &[&str]) -> u32 {
    let read = match is_one_of(MOVES, word) {
        true => &operands[..operands.len() - 1],
        false => operands,
    };
    let named = read.iter().filter(|operand| !is_memory(operand)).filter_map(|operand| {
        let name = operand.strip_prefix('%')?.trim_start_matches(['r', 'e']);
        let name = name.trim_end_matches(['d', 'w', 'b']);
        GIVEN.iter().position(|known| {
            // `al` and `ah` are parts of `ax`, `sil` of `si`.
            *known == name || known.starts_with(name.trim_end_matches(['l', 'h'])) && name.len() > 1
        })
    });
    let implied: u32 = if word.starts_with("cmpxchg8b") || word.starts_with("cmpxchg16b") {
        0b111
    } else {
        u32::from(word.starts_with("cmpxchg"))
    };
    named.fold(implied, |given, register| given | 1 << register)
}

/// So much of the stack below its pointer a function may use without saying so, and two words besides: a
/// register, and which registers the instruction is given something in.
pub(crate) const ROOM: u32 = 128 + 16;

/// Calls a function of the stub, with an address and the registers that are read. No register changes.
fn call(place: Option<(&str, u32)>, name: &str) -> String {
    let given = place.map_or(0, |(_, given)| given);
    let address = place.map(|(place, _)| {
        // The stack pointer is another by then.
        let moved = if place.contains("(%rsp") {
            format!("{ROOM}+{}", with_distance(place))
        } else {
            place.to_owned()
        };
        format!("\tleaq {moved}, %rdi\n")
    });
    format!(
        "\tleaq -{ROOM}(%rsp), %rsp\n\tmovq %rdi, (%rsp)\n\tmovq ${given}, 8(%rsp)\n{}\
         \tcall mazurka_assembly_{name}\n\
         \tmovq (%rsp), %rdi\n\tmovq $0, (%rsp)\n\tmovq $0, 8(%rsp)\n\tleaq {ROOM}(%rsp), %rsp\n",
        address.unwrap_or_default()
    )
}

fn with_distance(place: &str) -> String {
    if place.starts_with('(') { format!("0{place}") } else { place.to_owned() }
}

/// Splits operands at commas outside of parentheses.
fn operands(text: &str) -> Vec<&str> {
    let (mut depth, mut begin, mut parts) = (0, 0, Vec::new());
    for (at, c) in text.char_indices() {
        match c {
            '(' => depth += 1,
            ')' => depth -= 1,
            ',' if depth == 0 => parts.push(text[std::mem::replace(&mut begin, at + 1)..at].trim()),
            _ => {}
        }
    }
    parts.push(text[begin..].trim());
    parts.retain(|part| !part.is_empty());
    parts
}

/// Whether an operand is in memory: neither a number nor a register.
fn is_memory(operand: &str) -> bool {
    operand.contains('(') || operand.contains(':') || !operand.starts_with(['$', '%'])
}

/// How many bytes an instruction accesses: by its letter, or by the registers that it works on.
fn size_of(word: &str, operands: &[&str]) -> Option<u32> {
    match word {
        "cmpxchg16b" => return Some(16),
        "cmpxchg8b" => return Some(8),
        _ if word.starts_with("set") => return Some(1),
        _ => {}
    }
    let bare = [UPDATES, MOVES, READS].iter().flat_map(|list| list.split_whitespace());
    if bare.clone().any(|name| name == word) {
        let mut registers = operands.iter().filter(|operand| operand.starts_with('%') && !is_memory(operand));
        return registers.next_back().and_then(|register| register_size(register));
    }
    // Of `movzbl` the first letter is what is read.
    let letter = if is("movz", word) || is("movs", word) { word.chars().nth(4) } else { word.chars().last() };
    match letter? {
        'b' => Some(1),
        'w' => Some(2),
        'l' => Some(4),
        'q' => Some(8),
        _ => None,
    }
}

fn register_size(register: &str) -> Option<u32> {
    let name = register.trim_start_matches('%');
    if let Some(number) = name.strip_prefix('r').filter(|rest| rest.starts_with(|c: char| c.is_ascii_digit()))
    {
        return match number.trim_start_matches(|c: char| c.is_ascii_digit()) {
            "" => Some(8),
            "d" => Some(4),
            "w" => Some(2),
            "b" => Some(1),
            _ => None,
        };
    }
    match (name.chars().next()?, name.len()) {
        ('r', 3) => Some(8),
        ('e', 3) => Some(4),
        (_, 3) if name.ends_with('l') => Some(1),
        (_, 2) if name.ends_with(['l', 'h']) => Some(1),
        (_, 2) => Some(2),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_does_nothing_is_known() {
        for idle in ["", "nop", "pause", "rep; nop", "rep nop", "lfence", "\\n\\tpause\\n", "pause\\0A\\09"] {
            assert!(!is_active(idle), "{idle}");
        }
        for active in ["lock; xaddl %0, %1", "mfence", "LOCK; ADDL $0,0(%%rsp)", "movq %1, %0", "syscall"] {
            assert!(is_active(active), "{active}");
        }
    }

    #[test]
    fn accesses_are_announced() {
        let way = |text: &str| {
            let out = announce(&format!("#APP\n\t{text}\n#NO_APP\n"), false);
            let mut call = out.lines().filter_map(|line| line.trim().strip_prefix("call mazurka_"));
            let call = call.rfind(|call| *call != "assembly_done").unwrap_or("nothing");
            call.trim_start_matches("assembly_").to_owned()
        };
        for (text, expected) in [
            ("lock; xaddl %eax, (%rdx)", "update4"),
            ("lock xaddq %rax, 8(%rbp,%rcx,8)", "update8"),
            ("xchg %al, x(%rip)", "update1"),
            ("lock; cmpxchg %r9w, (%rdx)", "update2"),
            ("lock\n\tcmpxchg16b (%rsi)", "update16"),
            ("lock; incl -4(%rbp)", "update4"),
            ("movl %eax, (%rdx)", "write4"),
            ("movzbl (%rdx), %eax", "read1"),
            ("mov (%rdx), %r10d", "read4"),
            ("sete %al", "nothing"),
            ("LOCK; BTSQ $3, Flags(%rip)", "update8"),
            ("lea (%rdx), %rax", "nothing"),
            ("cpuid", "nothing"),
            ("mfence", "fence"),
        ] {
            assert_eq!(way(text), expected, "{text}");
        }
        for text in [
            "incl (%rdx)",
            "movl %fs:0, %eax",
            "lock; xaddl %eax, (%rdx) ; addl $1, (%rdx)",
            "syscall",
            "rdtsc",
            "rep; stosb",
            "call *%rax",
            "push %rax",
            "1: jne 1b",
            "rep; movsb",
            "movsq",
            "lock; btsq %rax, (%rdx)",
        ] {
            assert_eq!(way(text), "refused_here", "{text}");
        }
        for (text, given) in [
            ("lock; xaddl %eax, (%rdx)", 0b1),
            ("lock; xaddw %r9w, (%rdx)", 0b10_0000),
            ("xchg %cl, (%rdx)", 0b10),
            ("xchg (%rdx), %sil", 0b1000),
            ("lock; cmpxchgq %rdi, (%rdx)", 0b1_0000_0001),
            ("lock; cmpxchg16b (%rdi)", 0b111),
            ("movl (%rdx), %eax", 0),
            ("movl %r8d, (%rdx)", 0b1_0000),
            ("movq %rbx, (%rdx)", 0),
            ("cmpl %edx, (%rdi)", 0b100),
            ("lock; incl (%rdx)", 0),
            ("lock; addl $1, (%rdx)", 0),
            ("xchgl %r13d, (%rdx)", 0),
            ("xchg %bl, (%rdx)", 0),
        ] {
            let out = announce(&format!("#APP\n\t{text}\n#NO_APP\n"), false);
            assert!(out.contains(&format!("movq ${given}, 8(%rsp)")), "{text}: {out}");
        }
        let moved = announce("#APP\nlock; addl $0,(%rsp)\n#NO_APP\n", false);
        assert!(moved.contains("leaq 144+0(%rsp), %rdi"), "{moved}");
        let named = announce("#APP\nLOCK; incl Count(%rip)\n#NO_APP\n", false);
        assert!(
            named.contains("leaq Count(%rip), %rdi") && named.contains("lock incl Count(%rip)"),
            "{named}"
        );
    }
}
