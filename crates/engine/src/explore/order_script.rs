//! An order of isolated blocks, written down: which task runs its next block, then which one, and
//! so on.
//!
//! A task is written as its path of spawn indices: `main`, `0` for the first task that `main`
//! creates, `0.2` for the third one that this creates. `0*3` stands for three blocks in a row. When
//! the script has no more to say, the first task in the order of the program goes on. So the empty
//! script is the order of the depth-first run.

use super::blocks::Block;
use super::order_run::Chooser;
use super::task_names::{TaskName, TaskNames};
use std::fmt;
use std::str::FromStr;

/// See the module.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug, Default)]
pub struct OrderScript {
    /// The paths of the tasks.
    tasks: Vec<Vec<u32>>,
    /// The run is over after this many blocks. It is not written down.
    most_blocks: Option<usize>,
}

impl OrderScript {
    pub fn new(tasks: impl Iterator<Item = Vec<u32>>) -> OrderScript {
        OrderScript {
            tasks: tasks.collect(),
            most_blocks: None,
        }
    }

    /// The same, for a run that ends after so many blocks: what follows the script may spin.
    #[must_use]
    pub(super) fn at_most(self, blocks: usize) -> OrderScript {
        OrderScript {
            most_blocks: Some(blocks.max(self.tasks.len())),
            ..self
        }
    }

    /// The task that runs each block, as it is written.
    pub(super) fn words(&self) -> Vec<String> {
        self.tasks.iter().map(|path| word(path)).collect()
    }

    /// The task that runs a block, as it is written.
    pub(super) fn word(&self, block: usize) -> String {
        self.tasks
            .get(block)
            .map_or_else(String::new, |path| word(path))
    }
}

impl fmt::Display for OrderScript {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let runs = self.tasks.chunk_by(|a, b| a == b);
        for (number, run) in runs.enumerate() {
            if number > 0 {
                f.write_str(" ")?;
            }
            f.write_str(&word(&run[0]))?;
            if run.len() > 1 {
                write!(f, "*{}", run.len())?;
            }
        }
        Ok(())
    }
}

/// A task as it is written.
pub(super) fn word(path: &[u32]) -> String {
    match path {
        [] => "main".to_owned(),
        path => path
            .iter()
            .map(u32::to_string)
            .collect::<Vec<_>>()
            .join("."),
    }
}

/// What is not a task in a written order.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct NotATask(pub String);

impl fmt::Display for NotATask {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "`{}` is not a task: main, or spawn indices as in 0.2, with *3 for three blocks",
            self.0
        )
    }
}

impl std::error::Error for NotATask {}

/// The most blocks that a script may have.
const MOST_BLOCKS: usize = 10_000_000;

impl FromStr for OrderScript {
    type Err = NotATask;

    fn from_str(written: &str) -> Result<OrderScript, NotATask> {
        let mut tasks = Vec::new();
        for word in written.split_whitespace() {
            let refused = || NotATask(word.to_owned());
            let (task, times) = word.split_once('*').unwrap_or((word, "1"));
            let times: usize = times.parse().map_err(|_| refused())?;
            if times == 0 || times > MOST_BLOCKS - tasks.len() {
                return Err(refused());
            }
            let path: Vec<u32> = match task {
                "main" => Vec::new(),
                path => (path.split('.'))
                    .map(|index| match index.starts_with('+') {
                        true => Err(refused()),
                        false => index.parse().map_err(|_| refused()),
                    })
                    .collect::<Result<_, _>>()?,
            };
            tasks.extend(std::iter::repeat_n(path, times));
        }
        Ok(OrderScript {
            tasks,
            most_blocks: None,
        })
    }
}

/// Follows a script.
pub struct Follow {
    tasks: Vec<TaskName>,
    most_blocks: Option<usize>,
    /// The number of the block, from 0, whose task stood before no block.
    pub departs: Option<usize>,
}

impl Follow {
    pub fn new(script: &OrderScript, names: &mut TaskNames) -> Follow {
        let tasks = script.tasks.iter().map(|path| names.named(path));
        Follow {
            tasks: tasks.collect(),
            most_blocks: script.most_blocks,
            departs: None,
        }
    }
}

impl Follow {
    /// The run has ended after so many blocks.
    pub fn ended(&mut self, blocks: usize) {
        if blocks < self.tasks.len() {
            self.departs.get_or_insert(blocks);
        }
    }
}

impl Chooser for Follow {
    fn choose(&mut self, waiting: &[TaskName], blocks: &[Block]) -> Option<usize> {
        let Some(task) = self.tasks.get(blocks.len()) else {
            let is_over = self.most_blocks.is_some_and(|most| blocks.len() >= most);
            return (!is_over).then_some(0);
        };
        let found = waiting.iter().position(|it| it == task);
        if found.is_none() {
            self.departs = Some(blocks.len());
        }
        found
    }
}
