//! The part that cargo calls instead of rustdoc.
//!
//! rustdoc compiles doc tests by itself, without any wrapper. They would run unchecked against the
//! crates that we built. So doc tests are skipped, and the report says so. All other calls go to
//! the real rustdoc.

use crate::Problem;
use crate::course::Event;
use crate::session::Session;
use std::ffi::OsString;
use std::os::unix::process::CommandExt;
use std::process::Command;

pub(crate) fn stand_in(session: &Session, arguments: &[OsString]) -> Result<u8, Problem> {
    if arguments.iter().any(|argument| argument == "--test") {
        return session.record(&Event::DocTestsSkipped).map(|()| 0);
    }
    let mut users = session.users_environment.iter();
    let users =
        users.find_map(|(name, value)| (name == "RUSTDOC").then_some(value.clone()).flatten());
    let mut command = Command::new(users.unwrap_or_else(|| "rustdoc".to_owned()));
    session.leave(&mut command);
    command.args(arguments);
    let error = command.exec();
    Err(Problem::start(command.get_program(), error))
}
