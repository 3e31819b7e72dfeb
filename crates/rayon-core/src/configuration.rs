//! The interface of rayon's first versions: [`Configuration`] and [`initialize`]. Both forward to
//! the builder.

#![allow(deprecated)]

use crate::builder::ThreadPoolBuilder;
use crate::thread_pool::ThreadPool;
use std::any::Any;
use std::error::Error;
use std::fmt;

/// The old form of [`ThreadPoolBuilder`].
#[deprecated(note = "Use `ThreadPoolBuilder`")]
#[derive(Default)]
pub struct Configuration {
    builder: ThreadPoolBuilder,
}

impl Configuration {
    /// See [`ThreadPoolBuilder::new`].
    pub fn new() -> Configuration {
        Configuration::default()
    }

    /// See [`ThreadPoolBuilder::build`].
    pub fn build(self) -> Result<ThreadPool, Box<dyn Error + 'static>> {
        Ok(self.builder.build()?)
    }

    /// See [`ThreadPoolBuilder::thread_name`].
    pub fn thread_name<F>(self, closure: F) -> Self
    where
        F: FnMut(usize) -> String + 'static,
    {
        Configuration {
            builder: self.builder.thread_name(closure),
        }
    }

    /// See [`ThreadPoolBuilder::num_threads`].
    pub fn num_threads(self, num_threads: usize) -> Configuration {
        Configuration {
            builder: self.builder.num_threads(num_threads),
        }
    }

    /// See [`ThreadPoolBuilder::panic_handler`].
    pub fn panic_handler<H>(self, panic_handler: H) -> Configuration
    where
        H: Fn(Box<dyn Any + Send>) + Send + Sync + 'static,
    {
        Configuration {
            builder: self.builder.panic_handler(panic_handler),
        }
    }

    /// See [`ThreadPoolBuilder::stack_size`].
    pub fn stack_size(self, stack_size: usize) -> Self {
        Configuration {
            builder: self.builder.stack_size(stack_size),
        }
    }

    /// See [`ThreadPoolBuilder::breadth_first`].
    pub fn breadth_first(self) -> Self {
        Configuration {
            builder: self.builder.breadth_first(),
        }
    }

    /// See [`ThreadPoolBuilder::start_handler`].
    pub fn start_handler<H>(self, start_handler: H) -> Configuration
    where
        H: Fn(usize) + Send + Sync + 'static,
    {
        Configuration {
            builder: self.builder.start_handler(start_handler),
        }
    }

    /// See [`ThreadPoolBuilder::exit_handler`].
    pub fn exit_handler<H>(self, exit_handler: H) -> Configuration
    where
        H: Fn(usize) + Send + Sync + 'static,
    {
        Configuration {
            builder: self.builder.exit_handler(exit_handler),
        }
    }
}

impl fmt::Debug for Configuration {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.builder.fmt(f)
    }
}

/// See [`ThreadPoolBuilder::build_global`].
#[deprecated(note = "use `ThreadPoolBuilder::build_global`")]
pub fn initialize(config: Configuration) -> Result<(), Box<dyn Error>> {
    Ok(config.builder.build_global()?)
}
