//! Random expressions and damaged programs.

use mazurka_litmus::ast::{BinaryOp, Expr, ExprKind, Name, UnaryOp};

/// Marsaglia's xorshift: the same numbers in every run.
pub struct Random(pub u64);

impl Random {
    /// A number from 0, less than the bound.
    pub fn below(&mut self, bound: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 % bound.max(1) as u64) as usize
    }

    /// An expression of at most this depth.
    pub fn expr(&mut self, depth: usize) -> Expr {
        use BinaryOp::*;
        const OPS: [BinaryOp; 13] = [Or, And, Eq, Ne, Lt, Le, Gt, Ge, Add, Sub, Mul, Div, Rem];
        const NUMBERS: [i64; 6] = [0, 1, 5, -5, i64::MIN, i64::MAX];
        let kind = match if depth == 0 { self.below(2) } else { self.below(8) } {
            0 => ExprKind::Number(NUMBERS[self.below(6)]),
            1 => ExprKind::Name(Name::new("x")),
            2 => ExprKind::Cell(Name::new("a"), Box::new(self.expr(depth - 1))),
            3 => ExprKind::Unary(UnaryOp::Neg, Box::new(self.expr(depth - 1))),
            4 => ExprKind::Unary(UnaryOp::Not, Box::new(self.expr(depth - 1))),
            _ => return Expr::binary(OPS[self.below(13)], self.expr(depth - 1), self.expr(depth - 1)),
        };
        Expr::new(kind)
    }

    /// A text with a few things removed, repeated, exchanged or put in.
    pub fn mutated(&mut self, text: &str) -> String {
        const PIECES: &[&str] = &[
            "{",
            "}",
            "(",
            ")",
            "[",
            "]",
            ";",
            ",",
            "=",
            "==",
            "=>",
            "..",
            "-",
            "!",
            "<",
            "&",
            "?",
            "_",
            "\"",
            "\\",
            "/*",
            "*/",
            "//",
            "\n",
            "é",
            "\0",
            "@",
            "5",
            "9223372036854775808",
            "x",
            "if",
            "else",
            "process p",
            "task",
            "var x",
            "lock",
            "receive",
            "timeout",
            "spawn",
            "cas(",
            "let",
            "in",
            "atomic",
            "assert",
            "\u{202e}",
            "1.5",
            "7a",
        ];
        let mut bytes = text.as_bytes().to_vec();
        for _ in 0..=self.below(4) {
            let at = self.below(bytes.len() + 1);
            let end = (at + self.below(12)).min(bytes.len());
            match self.below(6) {
                0 => drop(bytes.drain(at..end)),
                1 => {
                    let copy = bytes[at..end].to_vec();
                    let to = self.below(bytes.len() + 1);
                    bytes.splice(to..to, copy);
                }
                2 => bytes[at..end].reverse(),
                3 if self.below(8) == 0 => bytes.truncate(at),
                _ => {
                    let piece = PIECES[self.below(PIECES.len())];
                    bytes.splice(at..at, format!(" {piece} ").into_bytes());
                }
            }
        }
        String::from_utf8_lossy(&bytes).into_owned()
    }
}
