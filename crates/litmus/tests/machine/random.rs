//! Random programs, made to be hard on labels: atomic blocks with branches, loops, jumps and values that flow
//! from shared variables into indices and bounds.

use super::support::Random;

/// The text of a random program.
pub fn text(random: &mut Random) -> String {
    let mut text = "var x, y = 1, a[3] = [0, 1, 2]; lock m; task t(r) { let s = 0; x = r; }\n".to_owned();
    for p in 0..2 + random.below(2) {
        // All locals exist from the start, so that any may be used anywhere.
        text += &format!("process p{p} {{ let r = {}; let s = 0; let k = 1; let j = 0;\n", random.below(3));
        for _ in 0..1 + random.below(3) {
            text += &statement(random);
        }
        text += "}\n";
    }
    text
}

fn pick<'a>(random: &mut Random, of: &[&'a str]) -> &'a str {
    of[random.below(of.len())]
}

fn expr(random: &mut Random, depth: usize) -> String {
    if depth == 0 || random.below(3) == 0 {
        return pick(random, &["0", "1", "2", "r", "s", "k", "x", "y", "a[1]", "x", "r"]).to_owned();
    }
    match random.below(5) {
        0 => format!("a[{}]", expr(random, depth - 1)),
        1 => format!("!({})", expr(random, depth - 1)),
        _ => {
            let op = pick(random, &["+", "-", "&&", "||", "==", "<", "&&", "||", "%"]);
            format!("({} {op} {})", expr(random, depth - 1), expr(random, depth - 1))
        }
    }
}

fn place(random: &mut Random) -> String {
    match random.below(4) {
        0 => "x".to_owned(),
        1 => "y".to_owned(),
        _ => format!("a[{}]", expr(random, 1)),
    }
}

fn simple(random: &mut Random) -> String {
    let value = expr(random, 2);
    match random.below(10) {
        0..=2 => format!("{} = {value};\n", place(random)),
        3 => format!("{} += {value};\n", place(random)),
        4..=5 => format!("{} = {value};\n", pick(random, &["r", "s"])),
        6 => format!("r = cas({}, {value}, {});\n", place(random), expr(random, 1)),
        7 => format!("s = {}({}, {value});\n", pick(random, &["swap", "fetch_add"]), place(random)),
        8 => format!("{} {value};\n", pick(random, &["assert", "assume"])),
        _ => format!("send({}, {value});\n", pick(random, &["p0", "p1"])),
    }
}

fn statement(random: &mut Random) -> String {
    match random.below(10) {
        0..=1 => simple(random),
        2 => format!("if {} {{ {} }} else {{ {} }}\n", expr(random, 2), simple(random), simple(random)),
        3 => format!("for k in {}..2 {{ {} }}\n", expr(random, 1), simple(random)),
        4 => format!("await {} == x;\n", expr(random, 2)),
        5 => format!("lock(m); {} unlock(m);\n", simple(random)),
        6 => pick(
            random,
            &["receive ?r;\n", "receive { r => { x = 1; } timeout => { y = s; } }\n", "spawn t(x);\n"],
        )
        .to_owned(),
        _ => {
            let guard = if random.below(3) == 0 {
                format!("await {} < y;\n", expr(random, 2))
            } else {
                String::new()
            };
            format!("atomic {{ {guard}{} }}\n", block(random, 2, false))
        }
    }
}

/// Statements of an atomic block.
fn block(random: &mut Random, depth: usize, in_loop: bool) -> String {
    let mut text = String::new();
    for _ in 0..1 + random.below(3) {
        text += &match random.below(if depth > 0 { 8 } else { 4 }) {
            4 | 5 => {
                let then = block(random, depth - 1, in_loop);
                let other = block(random, depth - 1, in_loop);
                format!("if {} {{ {then} }} else {{ {other} }}\n", expr(random, 2))
            }
            6 => {
                let index = pick(random, &["k", "j"]);
                format!(
                    "for {index} in {}..{} {{ {} }}\n",
                    expr(random, 1),
                    expr(random, 1),
                    block(random, depth - 1, true)
                )
            }
            7 if in_loop => {
                format!("if {} {{ {}; }}\n", expr(random, 1), pick(random, &["break", "continue"]))
            }
            _ => simple(random),
        };
    }
    text
}
