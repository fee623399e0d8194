//! What clang's thread instrumentation leaves out, put into its intermediate code.
//!
//! `-fsanitize=thread` announces reads and writes for a race detector, which may miss some. A checker may
//! not. So the instrumented code is looked at once more, line by line, in LLVM's textual form:
//! * accesses of types whose size is none of 1, 2, 4, 8 and 16 bytes (`long double`, bit-fields of three
//!   bytes, wide vectors) get an announcement of a range;
//! * structures that are passed by value in memory are copied by the backend, after the last chance to
//!   announce it: they are copied, announced, to a place of the caller's own first, and that place is passed;
//! * variables that will not be read again are wiped, for loops to be recognised ([`slots`]);
//! * what can't be repaired is refused where it stands: functions that are marked so that they are not
//!   instrumented, atomic operations that the instrumentation does not know.

mod places;
mod slots;
mod text;

use std::collections::{BTreeMap, BTreeSet};

use places::DebugLocations;
use text::{callee_and_arguments, closing, fields, plain_name, quoted, type_and_rest};

use super::BuildError;
use super::assembly;
use super::audit::{Audit, refusal_of_exempt};

/// Types that the instrumentation always announces, or knows why not.
const ANNOUNCED: [&str; 11] =
    ["i8", "i16", "i32", "i64", "i128", "ptr", "half", "bfloat", "float", "double", "fp128"];

/// Intrinsic functions that take a pointer but neither read nor write what the program keeps there, or work
/// on the frame of their caller.
const HARMLESS: &str = "\
    dbg. lifetime. va_start va_end va_copy threadlocal.address stacksave stackrestore eh. frameaddress \
    returnaddress addressofreturnaddress prefetch objectsize ptr.annotation var.annotation ptrmask \
    launder.invariant strip.invariant invariant. assume is.constant";

/// Looks through a module and repairs it.
///
/// # Errors
/// If it has something that can't be repaired.
pub fn repair(module: &str) -> Result<Audit, BuildError> {
    let places = DebugLocations::of(module);
    let instrumented: BTreeSet<&str> = module
        .lines()
        .filter(|line| line.starts_with("attributes #") && line.contains("sanitize_thread"))
        .filter_map(|line| line.split(' ').nth(1))
        .collect();
    let mut repairer = Repairer {
        places,
        instrumented,
        text: String::new(),
        copies: 0,
        calls: BTreeMap::new(),
        has_assembly: false,
    };
    let mut lines = module.lines();
    while let Some(line) = lines.next() {
        if line.starts_with("define ") {
            let body: Vec<&str> = lines.by_ref().take_while(|&line| line != "}").collect();
            repairer.function(line, &body)?;
        } else {
            repairer.outside(line)?;
        }
    }
    let Repairer { mut text, calls, has_assembly, .. } = repairer;
    for declaration in [
        "declare void @__tsan_read_range(ptr, i64)\n",
        "declare void @__tsan_write_range(ptr, i64)\n",
        "declare ptr @__tsan_memcpy(ptr, ptr, i64)\n",
    ] {
        let name = declaration.split(['@', '(']).nth(1).unwrap_or_default();
        let known = |line: &str| line.starts_with("declare ") && line.contains(&format!("@{name}("));
        if !module.lines().any(known) {
            text += declaration;
        }
    }
    Ok(Audit { text, calls, doubts: Vec::new(), has_assembly })
}

struct Repairer<'a> {
    places: DebugLocations<'a>,
    /// The groups of attributes (`#3`) of functions that are instrumented.
    instrumented: BTreeSet<&'a str>,
    text: String,
    /// How many structures were copied.
    copies: usize,
    /// Where functions are called first.
    calls: BTreeMap<String, String>,
    has_assembly: bool,
}

/// A function while it is rewritten.
#[derive(Default)]
struct Body {
    /// What goes before its first instruction.
    entry: Vec<String>,
    lines: Vec<String>,
}

impl Body {
    /// The last instructions so far, the last one first.
    fn last(&self) -> impl Iterator<Item = &str> {
        self.lines.iter().rev().map(String::as_str).filter(|line| !line.trim_start().starts_with('#'))
    }

    /// Whether a call has just done an atomic load: `atomic i32, ptr @x seq_cst, align 4`. A cast may be in
    /// between.
    fn has_loaded(&self, load: &str) -> bool {
        let address =
            fields(load).get(1).and_then(|address| address.strip_prefix("ptr ")).unwrap_or_default();
        let address = address.rsplit_once(' ').map_or(address, |(address, _)| address);
        let call = format!("_load(ptr {address}, ");
        self.last().take(2).any(|line| line.contains("@__tsan_atomic") && line.contains(&call))
    }
}

impl Repairer<'_> {
    fn outside(&mut self, line: &str) -> Result<(), BuildError> {
        if let Some(assembly) = line.strip_prefix("module asm ") {
            let assembly = quoted(assembly).unwrap_or_default().trim_start();
            let declares = [".globl", ".weak", ".hidden", ".symver", ".type", ".size", "#"];
            if !assembly.is_empty() && !declares.iter().any(|word| assembly.starts_with(word)) {
                return Err(BuildError::Unsupported(format!(
                    "assembly outside of functions is not supported: it can't be instrumented (`{assembly}`)"
                )));
            }
        }
        self.push(line);
        Ok(())
    }

    fn push(&mut self, line: &str) {
        self.text += line;
        self.text.push('\n');
    }

    fn function(&mut self, head: &str, lines: &[&str]) -> Result<(), BuildError> {
        let is_instrumented = head.split(' ').any(|word| self.instrumented.contains(word));
        let mut body = Body::default();
        for &line in lines {
            let line = match is_instrumented {
                true => self.instruction(line, &mut body)?.unwrap_or_else(|| line.to_owned()),
                false => self.not_instrumented(head, line)?,
            };
            body.lines.push(line);
        }
        self.push(head);
        let label = usize::from(body.lines.first().is_some_and(|line| line.trim_end().ends_with(':')));
        let Body { entry, lines } = body;
        let lines = if is_instrumented { slots::wipe_dead(lines) } else { lines };
        for line in lines[..label].iter().chain(&entry).chain(&lines[label..]) {
            self.push(line);
        }
        self.push("}");
        Ok(())
    }

    /// A line of a function that is not instrumented: the compiler makes some, which touch no memory.
    fn not_instrumented(&self, head: &str, line: &str) -> Result<String, BuildError> {
        let operation = operation(line);
        let touches = ["load ", "store ", "atomicrmw ", "cmpxchg ", "callbr "];
        let memory = ["@llvm.mem", "@llvm.masked", " asm "];
        if touches.iter().any(|word| operation.starts_with(word))
            || memory.iter().any(|word| operation.contains(word))
        {
            let name = head.split_once('@').and_then(|(_, rest)| rest.split('(').next()).unwrap_or_default();
            return Err(self.refuse(line, &refusal_of_exempt(plain_name(name))));
        }
        Ok(line.to_owned())
    }

    /// Puts before a line what is missing there, and gives what is to stand in its place, if it is to change.
    fn instruction(&mut self, line: &str, body: &mut Body) -> Result<Option<String>, BuildError> {
        let operation = operation(line);
        let (word, rest) = operation.split_once(' ').unwrap_or((operation, ""));
        match word {
            "load" if !rest.starts_with("atomic ") => {
                let rest = rest.trim_start_matches("volatile ");
                if let [kind, address, ..] = fields(rest)[..] {
                    self.access(line, kind, address, "read", body)?;
                }
            }
            "store" if !rest.starts_with("atomic ") => {
                let rest = rest.trim_start_matches("volatile ");
                if let [value, address, ..] = fields(rest)[..]
                    && let Some((kind, _)) = type_and_rest(value)
                {
                    self.access(line, kind, address, "write", body)?;
                }
            }
            // What clang has replaced by a call stays behind it, although nobody uses it.
            "load" if body.has_loaded(rest) => return Ok(without_call(line)),
            "load" | "store" | "atomicrmw" | "cmpxchg" | "fence" => {
                return Err(
                    self.refuse(line, "this atomic operation is of a kind that clang does not instrument")
                );
            }
            "callbr" => {
                return Err(self.refuse(line, "`asm goto` is not supported: it can't be instrumented"));
            }
            "call" | "invoke" | "tail" | "notail" | "musttail" => return self.call(line, operation, body),
            _ => {}
        }
        Ok(None)
    }

    /// Announces an access, unless it is.
    fn access(
        &self,
        line: &str,
        kind: &str,
        address: &str,
        way: &str,
        body: &mut Body,
    ) -> Result<(), BuildError> {
        if ANNOUNCED.contains(&kind) {
            return Ok(());
        }
        let Some(address) = address.strip_prefix("ptr ").filter(|rest| !rest.starts_with("addrspace")) else {
            return Err(self.refuse(line, "memory relative to a segment register is not supported"));
        };
        // Vectors and pairs of the right size are announced.
        let told = body.last().next().unwrap_or_default();
        if told.contains("@__tsan_") && told.contains(&format!("(ptr {address})")) {
            return Ok(());
        }
        let place = debug_location(line);
        body.lines
            .push(format!("  call void @__tsan_{way}_range(ptr {address}, i64 {}){place}", bytes_of(kind)));
        Ok(())
    }

    fn call(&mut self, line: &str, operation: &str, body: &mut Body) -> Result<Option<String>, BuildError> {
        let Some((callee, arguments)) = callee_and_arguments(operation) else {
            self.assembly(operation);
            return Ok(None);
        };
        let name = plain_name(callee);
        if let Some(intrinsic) = callee.strip_prefix("@llvm.") {
            let known = HARMLESS.split(' ').any(|harmless| intrinsic.starts_with(harmless));
            let points = fields(arguments).iter().any(|argument| argument.starts_with("ptr"));
            if points && !known {
                return Err(
                    self.refuse(line, &format!("the built-in operation `{intrinsic}` is not instrumented"))
                );
            }
        } else if callee.starts_with('@') {
            let places = &self.places;
            let place = || places.of_line(line).unwrap_or_default();
            self.calls.entry(name.to_owned()).or_insert_with(place);
        }
        if arguments.contains("byval(") {
            return self.by_value(line, operation, arguments, body).map(Some);
        }
        Ok(None)
    }

    fn assembly(&mut self, operation: &str) {
        let Some((_, assembly)) = operation.split_once(" asm ") else { return };
        self.has_assembly |= assembly::is_active(quoted(assembly).unwrap_or_default());
    }

    /// Passes copies of structures that are passed by value, so that the copying is announced.
    fn by_value(
        &mut self,
        line: &str,
        operation: &str,
        arguments: &str,
        body: &mut Body,
    ) -> Result<String, BuildError> {
        if operation.starts_with("musttail") {
            return Err(self.refuse(line, "a tail call that passes a structure by value is not supported"));
        }
        let place = debug_location(line);
        let mut changed = line.to_owned();
        for argument in fields(arguments) {
            let Some((_, rest)) = argument.split_once("byval(") else { continue };
            let Some(end) = closing(rest) else { continue };
            let (kind, rest) = (&rest[..end], rest[end + 1..].trim_start());
            let (align, value) = match rest.strip_prefix("align ").and_then(|rest| rest.split_once(' ')) {
                Some((align, value)) => (align, value),
                None => ("16", rest),
            };
            let copy = format!("%mazurka.copy.{}", self.copies);
            self.copies += 1;
            body.entry.push(format!("  {copy} = alloca {kind}, align {align}"));
            body.lines.push(format!(
                "  {copy}.done = call ptr @__tsan_memcpy(ptr {copy}, ptr {value}, i64 {}){place}",
                size_of(kind)
            ));
            let replaced = format!("{}{copy}", argument.strip_suffix(value).unwrap_or(argument));
            changed = changed.replacen(argument, &replaced, 1);
        }
        Ok(changed)
    }

    fn refuse(&self, line: &str, why: &str) -> BuildError {
        let place = self.places.of_line(line).map_or(String::new(), |place| format!("{place}: "));
        BuildError::Unsupported(format!("{place}{why}"))
    }
}

/// What a line does, without the name of its result.
fn operation(line: &str) -> &str {
    let line = line.trim_start();
    match line.split_once(" = ") {
        Some((name, operation)) if name.starts_with('%') => operation,
        _ => line,
    }
}

/// An atomic load that is left behind and that no processor has would become a call, and so another step: none
/// of its own if it is a plain one.
fn without_call(line: &str) -> Option<String> {
    let (begin, rest) = line.split_once("load atomic i128, ptr ")?;
    let (address, rest) = rest.split_once(", align")?;
    let (address, _order) = address.rsplit_once(' ')?;
    let address = address.split(" syncscope").next().unwrap_or(address);
    Some(format!("{begin}load i128, ptr {address}, align{rest}"))
}

/// How many bytes an access of a type touches. Of an integer those that have its bits: bit-fields of 24 bits
/// may be all that an object has, although such a number takes four bytes in an array.
fn bytes_of(kind: &str) -> String {
    let bits = kind.strip_prefix('i').and_then(|bits| bits.parse::<u64>().ok());
    bits.map_or_else(|| size_of(kind), |bits| bits.div_ceil(8).to_string())
}

/// The size of a type, as the compiler works it out.
fn size_of(kind: &str) -> String {
    format!("ptrtoint (ptr getelementptr ({kind}, ptr null, i32 1) to i64)")
}

/// What a line says of its place, to be said of another too.
fn debug_location(line: &str) -> String {
    let number =
        line.rsplit_once(", !dbg ").map(|(_, rest)| rest.split([',', ' ']).next().unwrap_or_default());
    number.map_or(String::new(), |number| format!(", !dbg {number}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    const HEAD: &str = "define i32 @main() #0 {";
    const TAIL: &str = "}\nattributes #0 = { noinline sanitize_thread }\nattributes #1 = { noinline }\n";

    fn repaired(body: &str) -> Result<String, String> {
        repair(&format!("{HEAD}\n{body}\n{TAIL}")).map(|told| told.text).map_err(|error| error.to_string())
    }

    #[test]
    fn odd_sizes_are_announced() {
        let text =
            repaired("  %1 = load i24, ptr @B, align 1\n  store x86_fp80 %6, ptr @L, align 16").unwrap();
        let at = |what: &str| {
            text.lines().position(|line| line.contains(what)).unwrap_or_else(|| panic!("{text}"))
        };
        assert_eq!(at("@__tsan_read_range(ptr @B") + 1, at("load i24"));
        assert_eq!(at("@__tsan_write_range(ptr @L") + 1, at("store x86_fp80"));
    }

    #[test]
    fn what_is_announced_is_not_announced_twice() {
        for body in [
            "  store i32 5, ptr @x, align 4",
            "  call void @__tsan_write16(ptr @v)\n  store <4 x i32> %1, ptr @v, align 16",
        ] {
            let text = repaired(body).unwrap();
            assert!(!text.contains("call void @__tsan_write_range"), "{text}");
        }
    }

    #[test]
    fn a_load_that_was_replaced_by_a_call_may_stay() {
        let call = "  %2 = call i32 @__tsan_atomic32_load(ptr @x, i32 5)\n";
        let load = "  %3 = load atomic i32, ptr @x seq_cst, align 4";
        assert!(repaired(&format!("{call}{load}")).is_ok());
        assert!(repaired(load).unwrap_err().contains("atomic operation"));
        let wide = |text: &str| text.replace("i32 ", "i128 ").replace("i32,", "i128,").replace("32_", "128_");
        let text = repaired(&format!("{}{}", wide(call), wide(load))).unwrap();
        assert!(text.contains("%3 = load i128, ptr @x, align 4\n"), "{text}");
    }

    #[test]
    fn structures_by_value_are_copied_first() {
        let call = "  %4 = call i32 @take(ptr noundef byval(%struct.Big) align 8 @G, i32 3, ptr byval(%s) align 16 %2)";
        let text = repaired(call).unwrap();
        let lines: Vec<&str> = text.lines().collect();
        assert_eq!(lines[1], "  %mazurka.copy.0 = alloca %struct.Big, align 8");
        assert_eq!(lines[2], "  %mazurka.copy.1 = alloca %s, align 16");
        assert!(lines[3].contains("@__tsan_memcpy(ptr %mazurka.copy.0, ptr @G, "), "{text}");
        assert!(lines[4].contains("@__tsan_memcpy(ptr %mazurka.copy.1, ptr %2, "), "{text}");
        assert!(
            lines[5].contains("align 8 %mazurka.copy.0, i32 3, ptr byval(%s) align 16 %mazurka.copy.1)"),
            "{text}"
        );
        assert_eq!(lines[6], "}");
    }

    #[test]
    fn what_can_not_be_repaired_is_refused() {
        for (body, why) in [
            ("  %1 = atomicrmw fadd ptr @d, double 1.0 seq_cst, align 8", "atomic operation"),
            (
                "  call void @llvm.masked.store.v8i32.p0(<8 x i32> %1, ptr @v, i32 4, <8 x i1> %2)",
                "masked.store",
            ),
            ("  %1 = load i24, ptr addrspace(257) null, align 4", "segment register"),
        ] {
            let error = repaired(body).unwrap_err();
            assert!(error.contains(why), "{error}");
        }
        let not = format!("define i32 @quiet() #1 {{\n  %1 = load i32, ptr @x, align 4\n{TAIL}");
        assert!(repair(&not).unwrap_err().to_string().contains("the function `quiet` is marked"));
    }

    #[test]
    fn known_assembly_may_stay() {
        for template in ["", "pause", "rep; nop", "lock incl $0\\0A\\09"] {
            let body = format!(r#"  call void asm sideeffect "{template}", "~{{memory}}"()"#);
            assert!(repaired(&body).is_ok(), "{template}");
        }
    }
}
