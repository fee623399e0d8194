//! Declarations: names, constants, the layout of shared memory, the processes of the start.

use std::collections::HashMap;

use mazurka_syntax::Diagnostic;

use super::{Compiler, Symbol, check};
use crate::arithmetic;
use crate::ast::{
    Ast, BinaryOp, Expr, ExprKind, Init, Item, Name, ObjectDecl, ProcessDecl, UnaryOp, VarDecl,
};
use crate::code::{Body, FamilyInfo, MAX_NESTING, ObjectInfo, VarInfo};

const MAX_ARRAY: i64 = 1_000_000;
const MAX_CELLS: usize = 4_000_000;
const MAX_FAMILY: i128 = 10_000;

impl Compiler {
    /// Declares everything at the top, in order.
    pub(super) fn declare(&mut self, ast: &Ast, params: &[(String, i64)]) {
        let given = self.given(ast, params);
        for (item, declaration) in ast.items.iter().enumerate() {
            self.item = item;
            match declaration {
                Item::Param(name, value) => {
                    let value = self.constant(value, 0).unwrap_or(0);
                    self.define(name, Symbol::Param(given.get(name.text.as_str()).copied().unwrap_or(value)));
                }
                Item::Const(name, value) => {
                    let value = self.constant(value, 0).unwrap_or(0);
                    self.define(name, Symbol::Const(value));
                }
                Item::Var(vars) => vars.iter().for_each(|var| self.var(var)),
                Item::Lock(locks) => {
                    for lock in locks {
                        let info = self.object(lock);
                        self.define(&lock.name, Symbol::Lock(self.image.locks.len() as u32));
                        self.image.locks.push(info);
                    }
                }
                Item::Condvar(condvars) => {
                    for condvar in condvars {
                        let info = self.object(condvar);
                        self.define(&condvar.name, Symbol::Condvar(self.image.condvars.len() as u32));
                        self.image.condvars.push(info);
                    }
                }
                Item::Process(process) => self.process(process),
                // It names what is in bodies.
                Item::Commute(_) => {}
                Item::Task(task) => {
                    self.define(&task.name, Symbol::Task(self.image.bodies.len() as u32));
                    self.new_body(&task.name.text, task.params.len());
                }
            }
        }
        if !ast.items.iter().any(|item| matches!(item, Item::Process(_))) {
            let help = "declare one: `process main { ... }`; tasks run only if a process spawns them";
            self.error(Diagnostic::new(Default::default(), "the program has no process").help(help));
        }
        self.lay_out();
    }

    /// The values given for parameters, by name.
    fn given<'a>(&mut self, ast: &Ast, params: &'a [(String, i64)]) -> HashMap<&'a str, i64> {
        let declared = || {
            ast.items.iter().filter_map(|item| match item {
                Item::Param(name, _) => Some(name.text.as_str()),
                _ => None,
            })
        };
        let mut given = HashMap::new();
        for (name, value) in params {
            if given.insert(name.as_str(), *value).is_some() {
                let message = format!("the parameter `{name}` is given twice");
                self.error(Diagnostic::new(Default::default(), message));
            } else if !declared().any(|known| known == name) {
                let message = format!("the program has no parameter `{name}`");
                let help = match check::closest(name, declared()) {
                    Some(near) => format!("did you mean `{near}`?"),
                    None if declared().next().is_none() => "the program has no parameters at all".to_owned(),
                    None => format!("its parameters are: {}", declared().collect::<Vec<_>>().join(", ")),
                };
                self.error(Diagnostic::new(Default::default(), message).help(help));
            }
        }
        given
    }

    fn define(&mut self, name: &Name, symbol: Symbol) {
        if let Some(&(known, _)) = self.symbols.get(&name.text) {
            let message = format!("`{}` is declared twice", name.text);
            let label = format!("it is {} already", known.noun());
            self.error(
                Diagnostic::new(name.span, message).label(label).help("give one of them another name"),
            );
        } else {
            self.symbols.insert(name.text.clone(), (symbol, self.item));
        }
    }

    fn var(&mut self, var: &VarDecl) {
        let len = self.size(var.size.as_ref());
        let base = self.image.initial.len() as u32;
        let array = var.size.is_some();
        self.define(&var.name, Symbol::Var(self.image.vars.len() as u32));
        self.image.vars.push(VarInfo { name: var.name.text.clone(), base, len, array, groups: Vec::new() });
        // Too many cells are complained of where they are laid out; there is no need to make them.
        if self.image.initial.len() + len as usize > MAX_CELLS {
            return self.too_many_cells(&var.name);
        }
        match &var.init {
            Init::Zero => self.image.initial.extend(std::iter::repeat_n(0, len as usize)),
            Init::All(value) => {
                let value = self.constant(value, 0).unwrap_or(0);
                self.image.initial.extend(std::iter::repeat_n(value, len as usize));
            }
            Init::Each(values) => {
                let values: Vec<i64> =
                    values.iter().map(|value| self.constant(value, 0).unwrap_or(0)).collect();
                self.check_initialisers(var, array, len, values.len());
                self.image
                    .initial
                    .extend(values.iter().copied().chain(std::iter::repeat(0)).take(len as usize));
            }
        }
    }

    fn check_initialisers(&mut self, var: &VarDecl, array: bool, len: u32, given: usize) {
        let name = &var.name.text;
        if !array {
            let message = format!("`{name}` is a single variable, but it is given a list of values");
            let help = format!("`var {name} = 1;`, or make it an array: `var {name}[{given}] = [...];`");
            self.error(Diagnostic::new(var.name.span, message).help(help));
        } else if given != len as usize {
            let message = format!("`{name}` has {len} cells, but is given {given} values");
            let help = format!("give {len} values, or one for all: `var {name}[{len}] = 0;`");
            self.error(Diagnostic::new(var.name.span, message).help(help));
        }
    }

    fn too_many_cells(&mut self, name: &Name) {
        let message = format!("with `{}` the program has more than {MAX_CELLS} cells", name.text);
        self.error(Diagnostic::new(name.span, message).help("make its arrays smaller"));
    }

    fn object(&mut self, object: &ObjectDecl) -> ObjectInfo {
        let len = self.size(object.size.as_ref());
        ObjectInfo { name: object.name.text.clone(), base: 0, len, array: object.size.is_some() }
    }

    /// The number of cells of a declaration with that size.
    fn size(&mut self, size: Option<&Expr>) -> u32 {
        let Some(size) = size else { return 1 };
        let Some(value) = self.constant(size, 0) else { return 1 };
        if (0..=MAX_ARRAY).contains(&value) {
            return value as u32;
        }
        let message = format!("an array can't have {value} cells");
        let help = format!("a size is between 0 and {MAX_ARRAY}");
        self.error(Diagnostic::new(size.span, message).help(help));
        1
    }

    fn process(&mut self, process: &ProcessDecl) {
        let (mut from, mut len) = (0, 1);
        if let Some((_, range)) = &process.family
            && let (Some(first), Some(to)) = (self.constant(&range.from, 0), self.constant(&range.to, 0))
        {
            let count = i128::from(to) - i128::from(first) + i128::from(range.inclusive);
            from = first;
            if self.image.roots.len() as i128 + count > MAX_FAMILY {
                let message = format!("with {count} of `{}` there are too many processes", process.name.text);
                let help = format!("a program starts at most {MAX_FAMILY} processes");
                self.error(Diagnostic::new(process.name.span, message).help(help));
            } else {
                len = count.max(0) as u32;
            }
        }
        let decl = self.image.families.len() as u32;
        self.define(&process.name, Symbol::Process(decl));
        self.image.families.push(FamilyInfo {
            name: process.name.text.clone(),
            body: self.image.bodies.len() as u32,
            first: self.image.roots.len() as u32,
            from,
            len,
            family: process.family.is_some(),
        });
        self.image.roots.extend(std::iter::repeat_n(decl, len as usize));
        self.new_body(&process.name.text, usize::from(process.family.is_some()));
    }

    fn new_body(&mut self, name: &str, arity: usize) {
        self.image.bodies.push(Body {
            name: name.to_owned(),
            entry: 0,
            end: 0,
            locals: Vec::new(),
            handles: false,
        });
        self.arity.push(arity);
        self.joined.push(false);
    }

    /// Gives locks and condition variables their cells, after those of the variables.
    fn lay_out(&mut self) {
        let image = &mut self.image;
        image.var_cells = image.initial.len() as u32;
        let mut next = image.initial.len();
        image.lock_base = next as u32;
        for lock in &mut image.locks {
            lock.base = next as u32;
            next += lock.len as usize;
        }
        image.condvar_base = next.min(MAX_CELLS) as u32;
        for condvar in &mut image.condvars {
            condvar.base = next as u32;
            next += 2 * condvar.len as usize;
        }
        if next > MAX_CELLS {
            let message =
                format!("the program has more than {MAX_CELLS} variables, locks and condition variables");
            self.error(Diagnostic::new(Default::default(), message).help("make its arrays smaller"));
            return;
        }
        image.initial.resize(next, 0);
        image.fixed_locations = next as u32;
    }

    /// The value of an expression over numbers, parameters and constants.
    pub(super) fn constant(&mut self, expr: &Expr, depth: usize) -> Option<i64> {
        if depth > MAX_NESTING {
            self.too_deep(expr.span);
            return None;
        }
        match &expr.kind {
            ExprKind::Number(value) => Some(*value),
            ExprKind::Name(name) => self.constant_name(name),
            ExprKind::Cell(name, _) => {
                self.not_constant(name);
                None
            }
            ExprKind::Unary(op, operand) => {
                let value = self.constant(operand, depth + 1)?;
                let result = match op {
                    UnaryOp::Neg => value.checked_neg(),
                    UnaryOp::Not => Some(i64::from(value == 0)),
                };
                if result.is_none() {
                    self.error(Diagnostic::new(expr.span, format!("-({value}) overflows 64 bits")));
                }
                result
            }
            ExprKind::Binary(op, left, right) => {
                let left = self.constant(left, depth + 1)?;
                match op {
                    BinaryOp::And if left == 0 => return Some(0),
                    BinaryOp::Or if left != 0 => return Some(1),
                    _ => {}
                }
                let right = self.constant(right, depth + 1)?;
                let result = arithmetic::binary(*op, left, right);
                if result.is_none() {
                    let message = arithmetic::describe(*op, left, right);
                    let help = "numbers are computed when the program is read: they must not fail";
                    self.error(Diagnostic::new(expr.span, message).help(help));
                }
                result
            }
        }
    }

    fn constant_name(&mut self, name: &Name) -> Option<i64> {
        match self.symbols.get(&name.text) {
            Some((Symbol::Param(value) | Symbol::Const(value), _)) => Some(*value),
            Some(_) => {
                self.not_constant(name);
                None
            }
            None => {
                let numbers = self
                    .symbols
                    .iter()
                    .filter(|(_, (s, _))| matches!(s, Symbol::Param(_) | Symbol::Const(_)));
                let near = check::closest(&name.text, numbers.map(|(known, _)| known.as_str()));
                let help = match near {
                    Some(near) => format!("did you mean `{near}`?"),
                    None => format!("declare it above: `const {} = 1;`", name.text),
                };
                let message = format!("no parameter or constant `{}` is declared above", name.text);
                self.error(Diagnostic::new(name.span, message).help(help));
                None
            }
        }
    }

    fn not_constant(&mut self, name: &Name) {
        let noun = self.symbols.get(&name.text).map_or("not known here", |(symbol, _)| symbol.noun());
        let message = format!("`{}` is {noun}, not a number", name.text);
        let help =
            "sizes, initial values and ranges of families are made of numbers, parameters and constants";
        self.error(Diagnostic::new(name.span, message).help(help));
    }
}
