//! What ABS has and this does not: refused by name.

use mazurka_syntax::Diagnostic;

use crate::model::Span;

/// Something that is not supported, at its place.
pub(crate) fn diagnostic(span: Span, what: &str) -> Diagnostic {
    Diagnostic::new(span, format!("not supported: {what}")).label("not supported")
}

/// Why a function of the standard library of ABS is none of ours.
pub(crate) fn function(name: &str) -> Option<&'static str> {
    Some(match name {
        "duration" => "timed ABS (`duration`)",
        "now" | "currentms" | "timeDifference" | "timeLessThan" | "timeValue" | "ms_since_model_start" => {
            "timed ABS (the clock)"
        }
        "deadline" | "lowlevelDeadline" | "durationValue" | "addDuration" | "subtractDuration" => {
            "timed ABS (deadlines)"
        }
        "isDurationInfinite" | "durationLessThan" | "subtractFromDuration" => "timed ABS (durations)",
        "readln" => "input (`readln`)",
        "destinyOf" => "`destiny`",
        "proc_deadline" | "defaultscheduler" | "randomscheduler" => "user-defined schedulers",
        "watch" | "watchEx" => "breakpoints (`watch`)",
        "float" | "rat" | "floor" | "ceil" | "sqrt" | "log" | "exp" => "floating point numbers (Float)",
        "thisDC" | "finvalue" => "deployment components",
        _ => return None,
    })
}

/// Why a name that might be a variable is none.
pub(crate) fn variable(name: &str) -> Option<&'static str> {
    match name {
        "destiny" => Some("`destiny`"),
        "thisDC" => Some("deployment components"),
        _ => None,
    }
}

/// Why a type, a class or a constructor of the standard library of ABS is none of ours.
pub(crate) fn type_or_constructor(name: &str) -> Option<&'static str> {
    Some(match name {
        "Float" => "floating point numbers (Float)",
        "Time" | "Duration" | "InfDuration" | "Deadline" => "timed ABS",
        "Destiny" => "`destiny`",
        "DeploymentComponent" | "DC" | "CloudProvider" | "Resourcetype" | "InfRat" | "Fin" => {
            "deployment components"
        }
        "Process" | "Pid" | "Scheduler" => "user-defined schedulers",
        _ => return None,
    })
}

/// What a type of other languages is called here.
pub(crate) fn foreign_type(name: &str) -> Option<&'static str> {
    Some(match name {
        "Integer" | "Long" | "Nat" => "Int",
        "Boolean" => "Bool",
        "Void" => "Unit",
        "Str" | "Text" => "String",
        "Double" | "Real" | "Rational" => "Rat",
        "Future" => "Fut",
        "Option" | "Optional" => "Maybe",
        _ => return None,
    })
}

/// Why a module of ABS is none of ours.
pub(crate) fn module(name: &str) -> Option<&'static str> {
    Some(match name {
        "ABS.DC" | "ABS.Infrastructure" | "SmartDeployInterface" => "deployment components",
        "ABS.Scheduler" => "user-defined schedulers",
        "ABS.FLI" => "foreign classes",
        "ABS.Productline" => "product lines",
        "ABS.Meta" => "meta-objects (ABS.Meta)",
        _ => return None,
    })
}

/// What a word at the top level of a file begins, of the language of product lines.
pub(crate) fn declaration(word: &str) -> Option<&'static str> {
    Some(match word {
        "delta" => "deltas",
        "productline" => "product lines",
        "product" => "products of a product line",
        "root" | "extension" => "feature models",
        "stateupdate" | "objectupdate" => "dynamic updates",
        _ => return None,
    })
}
