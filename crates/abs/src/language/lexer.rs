//! The tokens of the language.
//!
//! Only words that the grammar needs are tokens of their own. The others (`get`, `local`, `from`, `as`,
//! `uses`, ..) are names that the parser knows at their places, so that old programs may have variables of
//! these names.

use logos::Lexer;
use mazurka_syntax::{Fault, Malformed, TokenWords, comment, digits, quoted, scan};

mazurka_syntax::tokens! {
    /// A token; what names, numbers and texts say is in the source.
    pub(crate) enum Token {
        fixed {
            "module" Module, "import" Import, "export" Export, "data" Data, "type" Type,
            "exception" Exception, "def" Def, "interface" Interface, "class" Class, "if" If,
            "then" Then, "else" Else, "when" When, "case" Case, "switch" Switch, "while" While,
            "foreach" Foreach, "try" Try, "catch" Catch, "finally" Finally, "throw" Throw,
            "await" Await, "suspend" Suspend, "skip" Skip, "return" Return, "assert" Assert, "new" New,
            "null" Null, "this" This, "let" Let, "in" In, "builtin" Builtin,
            "(" OpenParen, ")" CloseParen, "[" OpenBracket, "]" CloseBracket, "{" OpenBrace,
            "}" CloseBrace, ";" Semicolon, "," Comma, ":" Colon, "." Dot, "?" Question, "=>" Arrow,
            "=" Assign, "||" Or, "|" Bar, "&&" And, "&" Ampersand, "==" Equal, "!=" NotEqual, "<" Less,
            "<=" LessEqual, ">" Greater, ">=" GreaterEqual, "+" Plus, "-" Minus, "*" Star, "/" Slash,
            "%" Percent, "!" Bang, "~" Tilde,
        }

        /// Of a variable, a function, a method.
        #[regex(r"[a-z][A-Za-z0-9_]*")]
        #[regex(r"[\p{XID_Start}_]\p{XID_Continue}*", strange_name, priority = 1)]
        Name,
        /// Of a type, a constructor, a class, a module.
        #[regex(r"[A-Z][A-Za-z0-9_]*")]
        TypeName,
        #[token("_", priority = 10)]
        Underscore,
        #[regex(r"[0-9]+")]
        #[regex(r"[0-9][0-9A-Za-z_]*[A-Za-z_][0-9A-Za-z_]*", digits)]
        Number,
        #[regex(r"[0-9]*\.[0-9]+([eE][+-]?[0-9]+)?")]
        Fraction,
        #[token("\"", quoted)]
        Text,
        /// A part of a template: begins with a back quote or `$`, ends with a back quote or `$`.
        #[token("`", template)]
        #[token("$", template)]
        Template,
        /// An operator of other languages, for which the parser knows what to say.
        #[regex(r"\^|<<|===|!==|<>|=<|\+\+|\*\*|\+=|-=|\*=|/=|%=|:=|->|<->|::")]
        Foreign,
        /// Something that has been reported already.
        #[token("/*", comment)]
        Wrong,
        /// The end of the file.
        End,
    }
}

impl TokenWords for Token {
    fn called(self) -> Option<&'static str> {
        (self == Token::Template).then_some("a template")
    }

    fn is_other_name(self) -> bool {
        self == Token::TypeName
    }

    fn remedy(self, text: &str) -> Option<&'static str> {
        if self != Token::Foreign {
            return None;
        }
        Some(match text {
            "===" => "write `==`",
            "!==" | "<>" => "write `!=`",
            "=<" => "write `<=`",
            ":=" => "write `=`",
            "->" => "a branch is written with `=>`",
            "::" => "a list is built by `Cons(x, rest)`",
            "+=" | "-=" | "*=" | "/=" | "%=" | "++" => "write it as an assignment: `x = x + 1;`",
            "**" => "powers are computed by `pow(base, exponent)`",
            _ => "there is no such operator",
        })
    }
}

const STRANGE_NAME: Malformed = Malformed {
    message: "a name has a strange letter",
    label: "not a name",
    help: "names begin with a letter and consist of the letters `a` to `z` and `A` to `Z`, digits and `_`",
    marked: None,
    unclosed: false,
};

const TEMPLATE: Malformed = Malformed {
    message: "this template has no end",
    label: "it begins here",
    help: "close it by a back quote; what is computed stands between two `$`",
    marked: Some(1),
    unclosed: true,
};

fn strange_name(_: &mut Lexer<Token>) -> Result<(), Fault> {
    Err(Fault::Malformed(&STRANGE_NAME))
}

/// Goes on to the end of a part of a template; the lexer stands after the sign it begins with.
fn template(lexer: &mut Lexer<Token>) -> Result<(), Fault> {
    let closes = |byte| byte == b'`' || byte == b'$';
    scan(lexer, &TEMPLATE, closes, closes, |_| false)
}
