//! Expressions: a stack machine whose stack is on the heap, so that functions may call each other as deep as
//! a setting says.

use std::cmp::Ordering;
use std::rc::Rc;

use mazurka_program::{FailureKind, ProcessId};

use crate::model::{Binary, ConstructorId, Pattern, Span, Target};
use crate::value::{self, Closure, NumberFault, Value};

use super::code::{Code, Image, Implementation, NONE, Op};

/// An exception on its way.
#[derive(Debug)]
pub struct Thrown {
    pub value: Value,
    /// Where it was thrown.
    pub span: Span,
    /// The task that threw it first, once it has left the instruction: those that take it from a future throw
    /// it again.
    pub thrower: Option<ProcessId>,
    /// What a failure by it is called.
    pub kind: FailureKind,
    /// What the machine says of an exception of its own, where the value does not.
    pub about: String,
}

/// Why there is no value.
#[derive(Clone, Debug)]
pub enum Fault {
    Throw(Rc<Thrown>),
    /// A bound was reached.
    Stop(String),
}

/// What an expression sees besides variables.
pub trait Env {
    /// A field of `this`.
    fn field(&mut self, field: u32) -> Value;
    fn this(&self) -> Value;
    /// What `println` says.
    fn print(&mut self, text: &str);
}

/// A function that was called.
#[derive(Clone, Copy, Debug)]
struct Call {
    back_to: u32,
    /// Where the frame of the caller begins; [`NONE`] if the caller is no function.
    caller: u32,
    /// Where the arguments began.
    floor: u32,
    /// How many slots the frame of the caller has.
    slots: u32,
}

/// The stack machine, with what is left of the bound on one segment.
#[derive(Debug, Default)]
pub struct Vm {
    stack: Vec<Value>,
    calls: Vec<Call>,
    base: u32,
    slots: u32,
    /// How many operations are left.
    pub fuel: u64,
    /// How deep functions may call each other.
    max_depth: usize,
    /// Whether references were ever told apart by more than equality: put in order, or turned into text.
    pub told_names: bool,
}

/// Makes an exception of the machine's own.
pub fn exception(image: &Image, id: ConstructorId, kind: FailureKind, about: &str, span: Span) -> Fault {
    let constructor = &image.constructors[id.index()];
    let arguments = (0..constructor.arity).map(|_| Value::text(about)).collect();
    let value = Value::data(constructor.tag, arguments);
    let about = if constructor.arity == 0 { about.to_owned() } else { String::new() };
    Fault::Throw(Rc::new(Thrown { value, span, thrower: None, kind, about }))
}

/// What an arithmetic operation without a result comes to.
pub fn number_fault(image: &Image, fault: NumberFault, span: Span) -> Fault {
    match fault {
        NumberFault::DivisionByZero => exception(
            image,
            image.known.division_by_zero,
            FailureKind::Arithmetic,
            &format!("division by zero: {}", image.source(span)),
            span,
        ),
        NumberFault::TooLarge => Fault::Stop(format!(
            "a number grew beyond a million bits at line {}: {}",
            image.line(span),
            image.source(span)
        )),
        NumberFault::NoNumber => {
            exception(image, image.known.error, FailureKind::Exception, "not a number", span)
        }
    }
}

impl Vm {
    pub fn new(fuel: u64, max_depth: usize) -> Vm {
        Vm { fuel, max_depth, ..Vm::default() }
    }

    /// The value of an expression in a frame.
    pub fn eval(
        &mut self,
        image: &Image,
        code: Code,
        frame: &mut [Value],
        env: &mut impl Env,
    ) -> Result<Value, Fault> {
        // Most expressions are one operation.
        if code.end == code.start + 2 {
            self.spend(1)?;
            match image.ops[code.start as usize] {
                Op::Slot(slot) => return Ok(frame[slot as usize].clone()),
                Op::Field(field) => return Ok(env.field(field)),
                Op::Unit => return Ok(Value::Unit),
                Op::Int(n) => return Ok(Value::Int(n)),
                _ => {}
            }
        }
        self.stack.clear();
        self.calls.clear();
        (self.base, self.slots) = (NONE, frame.len() as u32);
        let result = self.run(image, code.start, frame, env);
        self.stack.clear();
        result
    }

    fn spend(&mut self, fuel: u64) -> Result<(), Fault> {
        match self.fuel.checked_sub(fuel) {
            Some(left) => {
                self.fuel = left;
                Ok(())
            }
            None => Err(Fault::Stop("a segment takes too many steps: an endless loop?".to_owned())),
        }
    }

    fn run(
        &mut self,
        image: &Image,
        start: u32,
        frame: &mut [Value],
        env: &mut impl Env,
    ) -> Result<Value, Fault> {
        let mut pc = start;
        loop {
            self.spend(1)?;
            let at = pc as usize;
            pc += 1;
            match image.ops[at] {
                Op::Unit => self.stack.push(Value::Unit),
                Op::Bool(value) => self.stack.push(Value::Bool(value)),
                Op::Int(n) => self.stack.push(Value::Int(n)),
                Op::Big(k) => self.stack.push(value::from_big(&image.bigs[k as usize])),
                Op::Text(k) => self.stack.push(Value::text(&image.texts[k as usize])),
                Op::Null => self.stack.push(Value::Null),
                Op::This => self.stack.push(env.this()),
                Op::Slot(slot) => {
                    let value = self.slot(frame, slot).clone();
                    self.stack.push(value);
                }
                Op::Field(field) => self.stack.push(env.field(field)),
                Op::Store(slot) => {
                    let value = self.pop();
                    *self.slot(frame, slot) = value;
                }
                Op::Construct(id, count) => {
                    let arguments = self.stack.split_off(self.stack.len() - count as usize);
                    self.stack.push(Value::data(image.constructors[id as usize].tag, arguments));
                }
                Op::Call(function, count) => pc = self.call(image, function, count, pc, at, env)?,
                Op::CallSlot(slot, count) => {
                    let closure = self.slot(frame, slot).clone();
                    pc = self.call_closure(image, &closure, count, pc, at, env)?;
                }
                Op::Function(id) => self.stack.push(Value::Closure(Rc::new(Closure::Function(id)))),
                Op::Lambda(index) => self.lambda(index, frame),
                Op::Jump(to) => pc = to,
                Op::JumpUnless(to) => {
                    if !matches!(self.pop(), Value::Bool(true)) {
                        pc = to;
                    }
                }
                Op::JumpIf(decides, to) => {
                    if matches!(self.stack.last(), Some(Value::Bool(value)) if *value == decides) {
                        pc = to;
                    } else {
                        self.stack.pop();
                    }
                }
                Op::Match(pattern, otherwise) => {
                    let value = self.pop();
                    let matcher = &image.patterns[pattern as usize];
                    let slots = match self.base {
                        NONE => &mut *frame,
                        base => &mut self.stack[base as usize..],
                    };
                    if !matches(matcher, &value, slots, env) {
                        self.stack.push(value);
                        pc = otherwise;
                    }
                }
                Op::Return => match self.calls.pop() {
                    None => return Ok(self.pop()),
                    Some(call) => {
                        let result = self.pop();
                        self.stack.truncate(call.floor as usize);
                        self.stack.push(result);
                        (pc, self.base, self.slots) = (call.back_to, call.caller, call.slots);
                    }
                },
                op => {
                    let result = self.plain(image, op, image.op_spans[at])?;
                    self.stack.push(result);
                }
            }
        }
    }

    /// Operations that only look at what is on the stack.
    fn plain(&mut self, image: &Image, op: Op, span: Span) -> Result<Value, Fault> {
        let last = self.pop();
        match (op, &last) {
            (Op::Not, Value::Bool(value)) => Ok(Value::Bool(!value)),
            (Op::Negate, _) => value::negate(&last).map_err(|fault| number_fault(image, fault, span)),
            (Op::Binary(binary), _) => {
                let first = self.pop();
                let orders = matches!(
                    binary,
                    Binary::Less | Binary::LessEqual | Binary::Greater | Binary::GreaterEqual
                );
                self.told_names |= orders && first.refers() && last.refers();
                self.spend(surcharge(&first, &last))?;
                let Some(holds) = comparison(binary) else {
                    return apply(image, binary, &first, &last, span);
                };
                let (order, pairs) = first.compare(&last);
                self.spend(pairs / 4)?;
                Ok(Value::Bool(holds(order)))
            }
            (Op::Implements(interface), Value::Object(object)) => {
                Ok(Value::Bool(image.classes[object.class as usize].implements.contains(&interface)))
            }
            (Op::As(interface), Value::Object(object)) => {
                let fits = image.classes[object.class as usize].implements.contains(&interface);
                Ok(if fits { last } else { Value::Null })
            }
            (Op::As(_), _) => Ok(Value::Null),
            (Op::NoMatch, _) => {
                self.told_names |= last.refers();
                Err(no_match(image, &last, span))
            }
            _ => Ok(Value::Bool(false)),
        }
    }

    fn pop(&mut self) -> Value {
        self.stack.pop().unwrap_or_default()
    }

    fn slot<'a>(&'a mut self, frame: &'a mut [Value], slot: u32) -> &'a mut Value {
        match self.base {
            NONE => &mut frame[slot as usize],
            base => &mut self.stack[(base + slot) as usize],
        }
    }

    fn lambda(&mut self, index: u32, frame: &[Value]) {
        let captured = match self.base {
            NONE => frame,
            base => &self.stack[base as usize..(base + self.slots) as usize],
        };
        let captured: Box<[Value]> = captured.into();
        self.stack.push(Value::Closure(Rc::new(Closure::Lambda { index, captured })));
    }

    fn enter(&mut self, floor: usize, base: usize, slots: u32, back_to: u32) -> Result<(), Fault> {
        if self.calls.len() >= self.max_depth {
            return Err(Fault::Stop(format!(
                "functions call each other more than {} deep: an endless recursion?",
                self.max_depth
            )));
        }
        self.calls.push(Call { back_to, caller: self.base, floor: floor as u32, slots: self.slots });
        (self.base, self.slots) = (base as u32, slots);
        Ok(())
    }

    /// Calls a function: says where to go on.
    fn call(
        &mut self,
        image: &Image,
        function: u32,
        count: u32,
        back_to: u32,
        at: usize,
        env: &mut impl Env,
    ) -> Result<u32, Fault> {
        let code = &image.functions[function as usize];
        let floor = self.stack.len() - count as usize;
        match code.implementation {
            Implementation::Code(body) => {
                self.enter(floor, floor, code.slots, back_to)?;
                self.stack.resize(floor + code.slots as usize, Value::Unit);
                Ok(body.start)
            }
            Implementation::Builtin(builtin) => {
                let arguments = self.stack.split_off(floor);
                let span = image.op_spans[at];
                self.told_names |= super::builtin::tells_names(builtin, &arguments);
                self.spend(super::builtin::surcharge(&arguments))?;
                let result = super::builtin::call(image, builtin, arguments, span, env)?;
                self.spend(super::builtin::surcharge(std::slice::from_ref(&result)))?;
                self.stack.push(result);
                Ok(back_to)
            }
        }
    }

    fn call_closure(
        &mut self,
        image: &Image,
        closure: &Value,
        count: u32,
        back_to: u32,
        at: usize,
        env: &mut impl Env,
    ) -> Result<u32, Fault> {
        let Value::Closure(closure) = closure else {
            return Err(no_match(image, closure, image.op_spans[at]));
        };
        match &**closure {
            Closure::Function(id) => self.call(image, *id, count, back_to, at, env),
            Closure::Lambda { index, captured } => {
                let code = &image.lambdas[*index as usize];
                let base = self.stack.len();
                let floor = base - count as usize;
                self.enter(floor, base, captured.len() as u32, back_to)?;
                self.stack.extend_from_slice(captured);
                for (k, &slot) in code.parameters.iter().enumerate() {
                    let argument = std::mem::take(&mut self.stack[floor + k]);
                    self.stack[base + slot as usize] = argument;
                }
                Ok(code.start)
            }
        }
    }
}

/// The exception of a value that no branch takes.
pub fn no_match(image: &Image, value: &Value, span: Span) -> Fault {
    let about = format!("no branch matches {}", value::show(value, image));
    exception(image, image.known.pattern_match_failed, FailureKind::Exception, &about, span)
}

/// What an operation that compares says of an order.
fn comparison(binary: Binary) -> Option<fn(Ordering) -> bool> {
    Some(match binary {
        Binary::Equal => Ordering::is_eq,
        Binary::NotEqual => Ordering::is_ne,
        Binary::Less => Ordering::is_lt,
        Binary::LessEqual => Ordering::is_le,
        Binary::Greater => Ordering::is_gt,
        Binary::GreaterEqual => Ordering::is_ge,
        _ => return None,
    })
}

/// What an operation takes besides one: long texts and numbers take their time, fractions the square of it.
fn surcharge(a: &Value, b: &Value) -> u64 {
    match (a, b) {
        (Value::Text(a), Value::Text(b)) => (a.len() + b.len()) as u64 / 32,
        (Value::Rat(_), _) | (_, Value::Rat(_)) => (value::words(a) + value::words(b)).pow(2) / 64,
        _ => value::words(a) * value::words(b) / 64,
    }
}

fn apply(image: &Image, binary: Binary, a: &Value, b: &Value, span: Span) -> Result<Value, Fault> {
    let number = match binary {
        Binary::Concatenate => return concatenate(image, a, b, span),
        Binary::Add => value::add(a, b),
        Binary::Subtract => value::subtract(a, b),
        Binary::Multiply => value::multiply(a, b),
        Binary::Divide => value::divide(a, b),
        Binary::DivideInts => value::divide_ints(a, b),
        Binary::Modulo => value::modulo(a, b),
        // Those that are left compare, or are jumps.
        _ => return Ok(b.clone()),
    };
    number.map_err(|fault| number_fault(image, fault, span))
}

/// Texts longer than this are refused: nothing but a runaway loop makes them.
const LONGEST_TEXT: usize = 1 << 24;

fn concatenate(image: &Image, a: &Value, b: &Value, span: Span) -> Result<Value, Fault> {
    let (Value::Text(a), Value::Text(b)) = (a, b) else { return Err(no_match(image, a, span)) };
    if a.len() + b.len() > LONGEST_TEXT {
        let line = image.line(span);
        return Err(Fault::Stop(format!("a text grew beyond {LONGEST_TEXT} bytes at line {line}")));
    }
    Ok(Value::Text(Rc::from(format!("{a}{b}"))))
}

/// Whether a value matches a pattern; binds what the pattern binds.
pub fn matches(pattern: &Pattern, value: &Value, slots: &mut [Value], env: &mut impl Env) -> bool {
    match (pattern, value) {
        (Pattern::Wildcard, _) => true,
        (Pattern::Bind(slot), _) => {
            slots[slot.index()] = value.clone();
            true
        }
        (Pattern::Equal(Target::Slot(slot)), _) => slots[slot.index()] == *value,
        (Pattern::Equal(Target::Field(field)), _) => env.field(field.0) == *value,
        (Pattern::Unit, Value::Unit) | (Pattern::Null, Value::Null) => true,
        (Pattern::Bool(a), Value::Bool(b)) => a == b,
        (Pattern::Int(number), _) => value::to_big(value).is_some_and(|value| value == *number),
        (Pattern::Text(a), Value::Text(b)) => **a == **b,
        (Pattern::Construct(id, parts), _) => match value.as_data() {
            Some((tag, arguments)) if tag.id == id.0 => {
                parts.iter().zip(arguments).all(|(part, value)| matches(part, value, slots, env))
            }
            _ => false,
        },
        _ => false,
    }
}
