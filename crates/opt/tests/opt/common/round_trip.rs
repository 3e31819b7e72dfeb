//! The text of a module, read back: the same text, and the same module but for what no text has.

use finishline_ir::text::read;
use finishline_ir::verify::verify;
use finishline_ir::{Function, Module, Type};
use finishline_model::SiteId;
use std::collections::HashMap;

/// Fails with the first difference.
pub(crate) fn round_trip(module: &Module) -> Result<(), String> {
    let text = module.to_string();
    let again = read(&text).map_err(|error| format!("{error}\n{text}"))?;
    if let Some((before, after)) = differing(&text, &again.to_string()) {
        return Err(format!("prints `{after}`, not `{before}`"));
    }
    if let Err(violations) = verify(&again) {
        return Err(format!("{}\n{text}", violations[0]));
    }
    let mut places = Places::default();
    let [expected, found] = [module, &again].map(|module| {
        let function = |function| places.normal(module, function);
        let functions: Vec<Function> = module.functions.iter().map(function).collect();
        let uses: Vec<_> = (module.constructs.iter())
            .map(|used| (used.construct, places.number(module, used.site)))
            .collect();
        (functions, uses)
    });
    let tables = (
        module.main,
        &module.structs,
        &module.globals,
        &module.unchecked,
    );
    let read = (again.main, &again.structs, &again.globals, &again.unchecked);
    match expected == found && tables == read {
        true => Ok(()),
        false => Err(format!("the text means another module\n{text}")),
    }
}

fn differing<'t>(before: &'t str, after: &'t str) -> Option<(&'t str, &'t str)> {
    let end = std::iter::repeat("the end");
    let mut lines = before
        .lines()
        .chain(["the end"])
        .zip(after.lines().chain(end));
    let found = lines.find(|(before, after)| before != after);
    found.or((before != after).then_some(("other line ends", "these")))
}

/// A number for each place in the source: line and column, which is all that a text knows of sites.
#[derive(Default)]
struct Places(HashMap<(u32, u32), u32>);

impl Places {
    fn number(&mut self, module: &Module, site: SiteId) -> SiteId {
        let site = module.source.site(site);
        let next = self.0.len() as u32;
        SiteId(*self.0.entry((site.line, site.column)).or_insert(next))
    }

    /// The function with numbers of places as its sites, and with int as the type of values that
    /// passes have removed.
    fn normal(&mut self, module: &Module, function: &Function) -> Function {
        let mut function = function.clone();
        let mut types = Vec::new();
        for block in &mut function.blocks {
            let results = block.instructions.iter().filter_map(|i| i.result);
            for value in block.parameters.iter().copied().chain(results) {
                types.resize(types.len().max(value.index() + 1), Type::Int);
                types[value.index()] = function.values[value.index()];
            }
            for instruction in &mut block.instructions {
                instruction.site = self.number(module, instruction.site);
            }
        }
        function.values = types;
        function.site = self.number(module, function.site);
        function.end = self.number(module, function.end);
        function
    }
}
