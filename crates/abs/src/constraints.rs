//! When the methods of an object commute, for people and for searches.
//!
//! A block is a method from its beginning to its end or to the first statement at which it waits, run on some
//! object with unknown fields and arguments. Integers are mathematical in the language as they are in
//! constraints. What has another type is a number that stands for a value: equal exactly if the values are.
//! Functions of it are functions without a meaning; what may throw is told apart from what does not, since an
//! exception ends everything.

mod declared;
mod extract;
mod functions;
mod loops;
mod pairs;
#[cfg(test)]
mod tests;

use mazurka_constraints::{Described, Settings, Table};

use crate::model::{Method, MethodId, Model};
pub use declared::declared;
pub(crate) use declared::judged;
use extract::extract;
use functions::Functions;

pub(crate) use functions::Loop;
pub(crate) use pairs::{Creator, MethodPair, MethodPairs, Term};

/// When the methods of each class commute on one object.
pub fn constraints(model: &Model, settings: &Settings) -> Table {
    let mut functions = Functions::default();
    let mut whole = Table::default();
    for (at, class) in model.classes.iter().enumerate() {
        let shared: Vec<String> = class.fields.iter().map(|field| field.name.clone()).collect();
        let mut blocks = Vec::new();
        // In the order of the source, which is always the same.
        let mut methods: Vec<(MethodId, &Method)> =
            class.methods.iter().map(|(_, id)| (*id, &model.methods[id.index()])).collect();
        methods.sort_by_key(|(_, method)| (method.span.file, method.span.start));
        for (number, (id, method)) in methods.into_iter().enumerate() {
            let (block, own) = extract(model, at, id, &mut functions);
            blocks.push(Described {
                name: format!("{}.{}", class.name, method.name),
                text: format!("{}()", method.name),
                line: line(model, method.span.file, method.span.start),
                body: number as u32,
                several: true,
                own,
                block: block.map_err(str::to_owned),
            });
        }
        let table = Table::new(blocks, &shared, &functions.names, settings);
        let before = whole.blocks.len();
        whole.blocks.extend(table.blocks);
        whole.apart += table.apart;
        whole.pairs.extend(table.pairs.into_iter().map(|mut row| {
            row.blocks = (row.blocks.0 + before, row.blocks.1 + before);
            row
        }));
    }
    whole.declared = declared(model).into_iter().map(|(row, _)| row).collect();
    whole
}

/// The line of a place, from 1.
fn line(model: &Model, file: u32, start: u32) -> u32 {
    let text = model.files.get(file as usize).and_then(|file| file.text.get(..start as usize));
    text.map_or(0, |before| before.matches('\n').count() as u32 + 1)
}
