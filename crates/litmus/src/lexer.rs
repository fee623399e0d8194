//! The tokens of the language.

use logos::Lexer;
use mazurka_syntax::{Fault, Malformed, TokenWords, comment, digits, quoted};

mazurka_syntax::tokens! {
    /// A token; what names, numbers and texts say is in the source.
    pub(crate) enum Token {
        fixed {
            "param" Param, "const" Const, "var" Var, "lock" Lock, "condvar" Condvar, "process" Process,
            "task" Task, "let" Let, "fetch_add" FetchAdd, "swap" Swap, "cas" Cas, "unlock" Unlock,
            "try_lock" TryLock, "wait" Wait, "notify_one" NotifyOne, "notify_all" NotifyAll,
            "await" Await, "spawn" Spawn, "join" Join, "send" Send, "receive" Receive,
            "timeout" Timeout, "choose" Choose, "assert" Assert, "assume" Assume, "skip" Skip, "if" If,
            "else" Else, "while" While, "for" For, "in" In, "break" Break, "continue" Continue,
            "atomic" Atomic, "commute" Commute, "true" True, "false" False,
            "(" OpenParen, ")" CloseParen, "[" OpenBracket, "]" CloseBracket, "{" OpenBrace,
            "}" CloseBrace, ";" Semicolon, "," Comma, "?" Question, "=>" Arrow, ".." Range,
            "..=" RangeInclusive, "=" Assign, "+=" AddAssign, "-=" SubAssign, "||" Or, "&&" And,
            "==" Equal, "!=" NotEqual, "<" Less, "<=" LessEqual, ">" Greater, ">=" GreaterEqual,
            "+" Plus, "-" Minus, "*" Star, "/" Slash, "%" Percent, "!" Bang,
        }

        #[regex(r"[A-Za-z_][A-Za-z0-9_]*")]
        #[regex(r"[\p{XID_Start}_]\p{XID_Continue}*", strange_name, priority = 1)]
        Name,
        #[token("_", priority = 10)]
        Underscore,
        #[regex(r"[0-9]+")]
        #[regex(r"[0-9][0-9A-Za-z_]*[A-Za-z_][0-9A-Za-z_]*", digits)]
        #[regex(r"[0-9]+\.[0-9]+", fraction)]
        Number,
        #[token("\"", quoted)]
        Text,
        /// An operator of other languages, for which the parser knows what to say.
        #[regex(r"&|\||\^|~|<<|>>|===|!==|<>|=<|\+\+|\*\*|\*=|/=|%=|:=|->")]
        Foreign,
        /// Something that has been reported already.
        #[token("/*", comment)]
        Wrong,
        /// The end of the file.
        End,
    }
}

impl TokenWords for Token {
    fn remedy_of_character(character: char) -> Option<&'static str> {
        match character {
            ':' => Some("there are no types; a value is given by `=`"),
            '.' => Some("a range is written with two dots: `0..5`"),
            _ => None,
        }
    }
}

const STRANGE_NAME: Malformed = Malformed {
    message: "a name has a strange letter",
    label: "not a name",
    help: "names consist of the letters `a` to `z` and `A` to `Z`, digits and `_`",
    marked: None,
    unclosed: false,
};

const FRACTION: Malformed = Malformed {
    message: "all numbers are whole",
    label: "a number with a fraction",
    help: "a range is written with two dots: `0..5`",
    marked: None,
    unclosed: false,
};

fn strange_name(_: &mut Lexer<Token>) -> Result<(), Fault> {
    Err(Fault::Malformed(&STRANGE_NAME))
}

fn fraction(_: &mut Lexer<Token>) -> Result<(), Fault> {
    Err(Fault::Malformed(&FRACTION))
}
