//! The interface: the signatures that programs rely on, and which types can be sent, shared and
//! unwound through.
//!
//! The table of markers was taken from rayon-core 1.13.0 by compiling the same questions against
//! it.

mod recorder;

use rayon_core::*;
use std::error::Error;
use std::panic::{RefUnwindSafe, UnwindSafe};

trait Otherwise {
    const HOLDS: bool = false;
}

impl<T: ?Sized> Otherwise for T {}

/// Asks which markers each type has. The inherent constant is found first, if its condition holds.
macro_rules! markers {
    ($($type:ty),+ $(,)?) => {
        vec![$((
            stringify!($type),
            markers!(@words $type, Send Sync Unpin UnwindSafe RefUnwindSafe),
        )),+]
    };
    (@words $type:ty, $($marker:ident)+) => {{
        let mut words = Vec::new();
        $({
            #[allow(dead_code)]
            struct Question<T: ?Sized>(std::marker::PhantomData<T>);
            #[allow(dead_code)]
            impl<T: ?Sized + $marker> Question<T> {
                const HOLDS: bool = true;
            }
            if <Question<$type>>::HOLDS {
                words.push(stringify!($marker));
            }
        })+
        words.join(" ")
    }};
}

#[test]
#[allow(deprecated)]
fn markers_are_those_of_rayon_core() {
    let markers = markers!(
        BroadcastContext<'static>,
        Configuration,
        FnContext,
        Scope<'static>,
        ScopeFifo<'static>,
        ThreadBuilder,
        ThreadPool,
        ThreadPoolBuildError,
        ThreadPoolBuilder,
        Yield,
    );
    let expected = [
        ("BroadcastContext<'static>", "Unpin"),
        ("Configuration", "Unpin"),
        ("FnContext", "Unpin UnwindSafe RefUnwindSafe"),
        ("Scope<'static>", "Send Sync Unpin"),
        ("ScopeFifo<'static>", "Send Sync Unpin"),
        ("ThreadBuilder", "Send Unpin"),
        ("ThreadPool", "Send Sync Unpin"),
        ("ThreadPoolBuildError", "Send Sync Unpin"),
        ("ThreadPoolBuilder", "Unpin"),
        ("Yield", "Send Sync Unpin UnwindSafe RefUnwindSafe"),
    ];
    for ((name, markers), expected) in markers.iter().zip(expected) {
        assert_eq!((*name, &**markers), expected);
    }
}

#[test]
#[allow(deprecated)]
fn deprecated_items_work() {
    let configuration = Configuration::new()
        .thread_name(|index| index.to_string())
        .num_threads(5)
        .panic_handler(|_| ())
        .stack_size(1 << 22)
        .breadth_first()
        .start_handler(|_| ())
        .exit_handler(|_| ());
    assert!(format!("{configuration:?}").starts_with("ThreadPoolBuilder { num_threads: 5"));
    let pool: Result<ThreadPool, Box<dyn Error>> = configuration.build();
    assert_eq!(pool.unwrap().current_num_threads(), 5);
    let pool: Result<ThreadPool, Box<dyn Error>> = ThreadPool::new(Configuration::default());
    assert_eq!(pool.unwrap().current_num_threads(), 4);
    let builder: ThreadPoolBuilder = ThreadPoolBuilder::default().breadth_first();
    builder.build().unwrap();
}

#[test]
fn everything_shows_itself() {
    let builder = ThreadPoolBuilder::new()
        .num_threads(2)
        .thread_name(|_| String::new());
    assert_eq!(
        format!("{builder:?}"),
        "ThreadPoolBuilder { num_threads: 2, use_current_thread: false, get_thread_name: Some(<closure>), \
         panic_handler: None, stack_size: None, start_handler: None, exit_handler: None, breadth_first: false }"
    );
    let pool = builder.build().unwrap();
    let shown = format!("{pool:?}");
    assert!(
        shown.starts_with("ThreadPool { num_threads: 2, id: "),
        "{shown}"
    );
    pool.scope(|s| assert!(format!("{s:?}").starts_with("Scope { pool_id: ")));
    pool.scope_fifo(|s| assert!(format!("{s:?}").starts_with("ScopeFifo { ")));
    pool.broadcast(|context| {
        let shown = format!("{context:?}");
        assert!(shown.starts_with("BroadcastContext { index: "), "{shown}");
    });
    join_context(
        |context| assert!(format!("{context:?}").starts_with("FnContext { migrated: true")),
        |_| (),
    );
    assert_eq!(format!("{:?}", Yield::Executed), "Executed");
    pool.install(|| {
        let error = ThreadPoolBuilder::new().use_current_thread().build();
        assert_eq!(
            format!("{:?}", error.unwrap_err()),
            "ThreadPoolBuildError { kind: CurrentThreadAlreadyInPool }"
        );
    });
}

/// Rayon's own code and programs pass function items as well as closures to these functions.
#[test]
fn functions_have_their_signatures() {
    let _: fn() -> usize = current_num_threads;
    let _: fn() -> usize = max_num_threads;
    let _: fn() -> Option<usize> = current_thread_index;
    let _: fn() -> Option<bool> = current_thread_has_pending_tasks;
    let _: fn() -> Option<Yield> = yield_now;
    let _: fn() -> Option<Yield> = yield_local;
    fn three() -> u8 {
        3
    }
    let (a, b): (u8, u8) = join::<_, _, u8, u8>(three, three);
    assert_eq!(a + b, 6);
    let rest = scope::<'_, _, u8>(|_| 3) + scope_fifo::<'_, _, u8>(|_| 3);
    let in_place = in_place_scope::<'_, _, u8>(|_| 3) + in_place_scope_fifo::<'_, _, u8>(|_| 3);
    assert_eq!(rest + in_place, 12);
}
