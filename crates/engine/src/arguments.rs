//! Reads the arguments of `main` from the words of a command line.

use finishline_ir::machine::Datum;
use finishline_ir::{Function, Module, Type};
use std::fmt;

/// Why the words can't be the arguments of this program.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct BadArguments(String);

impl fmt::Display for BadArguments {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for BadArguments {}

/// Reads one argument for each parameter of `main`.
pub fn parse(module: &Module, words: &[String]) -> Result<Vec<Datum>, BadArguments> {
    let main = module.function(module.main);
    let types = main
        .block(Function::ENTRY)
        .parameters
        .iter()
        .map(|value| main.ty(*value));
    if main.parameters.len() != words.len() {
        let usage = usage(module);
        let (takes, given) = (main.parameters.len(), words.len());
        let plural = if takes == 1 { "" } else { "s" };
        return Err(BadArguments(format!(
            "main takes {takes} argument{plural}, {given} given: {usage}"
        )));
    }
    let parameters = main.parameters.iter().zip(types).zip(words);
    parameters
        .map(|((name, ty), word)| value(name, ty, word))
        .collect()
}

/// The words for arguments that are given as integers. For a `bool`, 0 is false and any other
/// number is true.
pub fn words(module: &Module, numbers: &[i64]) -> Vec<String> {
    let main = module.function(module.main);
    let parameters = main.block(Function::ENTRY).parameters.iter();
    let is_bool = parameters.map(|value| main.ty(*value) == Type::Bool);
    (numbers.iter().zip(is_bool.chain(std::iter::repeat(false))))
        .map(|(number, is_bool)| match is_bool {
            true => (*number != 0).to_string(),
            false => number.to_string(),
        })
        .collect()
}

/// The signature of `main` as declared: `main(size: int, …)`.
pub fn usage(module: &Module) -> String {
    let main = module.function(module.main);
    let types = main
        .block(Function::ENTRY)
        .parameters
        .iter()
        .map(|value| main.ty(*value).word());
    let parameters: Vec<String> = main
        .parameters
        .iter()
        .zip(types)
        .map(|(name, ty)| format!("{name}: {ty}"))
        .collect();
    format!("main({})", parameters.join(", "))
}

fn value(name: &str, ty: Type, word: &str) -> Result<Datum, BadArguments> {
    let (value, range) = match ty {
        Type::Int => (
            word.parse().ok().map(Datum::Int),
            "a whole number of 64 bits",
        ),
        Type::Float => (word.parse().ok().map(Datum::Float), "a number"),
        Type::Bool => (word.parse().ok().map(Datum::Bool), "true or false"),
        Type::Byte => (word.parse().ok().map(Datum::Byte), "a number from 0 to 255"),
        Type::Ref => (None, "nothing a command line can give"),
    };
    value.ok_or_else(|| {
        let (ty, word) = (ty.word(), word.escape_debug());
        BadArguments(format!(
            "the argument `{name}: {ty}` is {range}, not `{word}`"
        ))
    })
}
