//! Declared constraints: which atomic blocks they name, and their conditions.

use mazurka_syntax::Diagnostic;

use super::{Compiler, Scope, check};
use crate::ast::{CommuteDecl, Name};
use crate::code::{DeclaredCode, Pc};
use crate::printer::print_commute;

impl Compiler {
    /// Notes what an atomic block is called.
    pub(super) fn name_block(&mut self, name: &Name, line: Pc) {
        if self.blocks.insert(name.text.clone(), line).is_some() {
            let message = format!("`{}` is the name of two atomic blocks", name.text);
            self.error(Diagnostic::new(name.span, message).help("give one of them another name"));
        }
    }

    /// Compiles a declared constraint; all bodies have been compiled.
    pub(super) fn commute(&mut self, declared: &CommuteDecl) {
        self.scope = Scope { of_constraint: true, ..Scope::default() };
        let lines = [&declared.blocks[0], &declared.blocks[1]].map(|name| self.block_of(name));
        let span = declared.blocks[0].span;
        let condition = declared.condition.as_ref().map(|expr| self.condition(expr, None, expr.span));
        if let [Some(first), Some(second)] = lines {
            let text = print_commute(declared);
            let names = declared.blocks.clone().map(|name| name.text);
            self.image.declared.push(DeclaredCode { lines: [first, second], names, condition, text, span });
        }
    }

    fn block_of(&mut self, name: &Name) -> Option<Pc> {
        let line = self.blocks.get(&name.text).copied();
        if line.is_none() {
            let help = match check::closest(&name.text, self.blocks.keys().map(String::as_str)) {
                Some(near) => format!("did you mean `{near}`?"),
                None => format!("give a block that name: `atomic {} {{ ... }}`", name.text),
            };
            let message = format!("no atomic block is called `{}`", name.text);
            self.error(Diagnostic::new(name.span, message).help(help));
        }
        line
    }
}
