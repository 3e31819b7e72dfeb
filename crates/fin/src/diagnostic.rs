//! Errors for people: a code, a sentence, labelled spans, help.
//!
//! A [`Diagnostics`] owns the source text of its errors and renders them in the style of rustc. It
//! renders at most [`MOST_SHOWN`] errors and counts the rest.

mod code;

pub use code::Code;

use crate::span::{LineIndex, Span};
use annotate_snippets::{AnnotationKind, Group, Level, Renderer, Snippet, renderer::DecorStyle};

/// More errors than a person reads at once.
pub const MOST_SHOWN: usize = 50;

#[derive(Clone, Debug)]
pub struct Diagnostic {
    pub code: Code,
    pub message: String,
    /// The first one is the place of the error; the others explain it.
    pub labels: Vec<(Span, String)>,
    pub help: Option<String>,
}

impl Diagnostic {
    pub fn new(
        code: Code,
        span: Span,
        message: impl Into<String>,
        label: impl Into<String>,
    ) -> Self {
        Diagnostic {
            code,
            message: message.into(),
            labels: vec![(span, label.into())],
            help: None,
        }
    }

    pub fn label(mut self, span: Span, label: impl Into<String>) -> Self {
        self.labels.push((span, label.into()));
        self
    }

    pub fn help(mut self, help: impl Into<String>) -> Self {
        self.help = Some(help.into());
        self
    }

    pub fn span(&self) -> Span {
        self.labels[0].0
    }
}

/// All errors of one file, in the order of the text.
#[derive(Debug)]
pub struct Diagnostics {
    pub path: String,
    pub text: String,
    pub errors: Vec<Diagnostic>,
}

impl Diagnostics {
    pub(crate) fn new(path: &str, text: &str, mut errors: Vec<Diagnostic>) -> Self {
        errors.sort_by_key(|error| error.span());
        Diagnostics {
            path: path.to_owned(),
            text: text.to_owned(),
            errors,
        }
    }

    /// Line and column of each error, for tests and tools.
    pub fn positions(&self) -> Vec<(Code, u32, u32)> {
        let lines = LineIndex::new(&self.text);
        let place = |error: &Diagnostic| {
            let (line, column) = lines.position(error.span().start);
            (error.code, line, column)
        };
        self.errors.iter().map(place).collect()
    }

    pub fn render(&self, color: bool) -> String {
        let renderer = if color {
            Renderer::styled()
        } else {
            Renderer::plain()
        };
        let renderer = renderer.decor_style(DecorStyle::Ascii);
        let mut out = String::new();
        for error in self.errors.iter().take(MOST_SHOWN) {
            out.push_str(&renderer.render(&[self.group(error)]));
            out.push_str("\n\n");
        }
        let count = self.errors.len();
        let (s, file) = (if count == 1 { "" } else { "s" }, &self.path);
        if count > MOST_SHOWN {
            out.push_str(&format!("the first {MOST_SHOWN} of "));
        }
        out.push_str(&format!(
            "{count} error{s} in {file}; `finishline explain CODE` tells more\n"
        ));
        out
    }

    fn group<'a>(&'a self, error: &'a Diagnostic) -> Group<'a> {
        let annotations = error.labels.iter().enumerate().map(|(at, (span, label))| {
            let kind = if at == 0 {
                AnnotationKind::Primary
            } else {
                AnnotationKind::Context
            };
            let length = self.text.len();
            let range = (span.start as usize).min(length)..(span.end as usize).min(length);
            kind.span(range)
                .label((!label.is_empty()).then_some(label.as_str()))
        });
        let snippet = Snippet::source(self.text.as_str())
            .path(self.path.as_str())
            .annotations(annotations);
        let group = Level::ERROR
            .primary_title(error.message.as_str())
            .id(error.code.name())
            .element(snippet);
        match &error.help {
            Some(help) => group.element(Level::HELP.message(help.as_str())),
            None => group,
        }
    }
}
