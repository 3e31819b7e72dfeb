//! The runtime's interface to the instrumentation. Each function that LLVM's ThreadSanitizer pass
//! can call exists, takes its arguments in the pass's order, and does what its name says.

use crate::package::{Package, shared};
use libtest_mimic::Trial;
use object::{Object, ObjectSymbol};
use std::collections::BTreeSet;
use std::fs;

pub(crate) fn trials() -> Vec<Trial> {
    let trial = |name: &str, test: fn()| {
        Trial::test(format!("interface::{name}"), move || {
            test();
            Ok(())
        })
    };
    vec![
        trial(
            "every_function_of_the_instrumentation_is_there",
            every_function_of_the_instrumentation_is_there,
        ),
        trial(
            "atomic_functions_do_what_they_say",
            atomic_functions_do_what_they_say,
        ),
        trial("copies_do_what_they_say", copies_do_what_they_say),
        trial(
            "sixteen_bytes_at_once_are_atomic",
            sixteen_bytes_at_once_are_atomic,
        ),
        trial("what_is_ignored_is_not_told", what_is_ignored_is_not_told),
    ]
}

const BITS: [u32; 5] = [8, 16, 32, 64, 128];

/// The atomic operations that change a value, each with the resulting value.
const CHANGES: [(&str, &str); 7] = [
    ("exchange", "b"),
    ("fetch_add", "a.wrapping_add(b)"),
    ("fetch_sub", "a.wrapping_sub(b)"),
    ("fetch_and", "a & b"),
    ("fetch_or", "a | b"),
    ("fetch_xor", "a ^ b"),
    ("fetch_nand", "!(a & b)"),
];

/// The functions that the pass of LLVM 22 can call. They are named by kind and by size.
fn functions() -> BTreeSet<String> {
    let fixed = [
        "init",
        "func_entry",
        "func_exit",
        "ignore_thread_begin",
        "ignore_thread_end",
        "vptr_read",
        "vptr_update",
        "memcpy",
        "memmove",
        "memset",
        "atomic_thread_fence",
        "atomic_signal_fence",
    ];
    let mut names: BTreeSet<String> = fixed.map(str::to_owned).into();
    for bytes in BITS.map(|bits| bits / 8) {
        for kind in [
            "read",
            "write",
            "volatile_read",
            "volatile_write",
            "read_write",
        ] {
            names.insert(format!("{kind}{bytes}"));
            // A byte is always aligned.
            if bytes > 1 {
                names.insert(format!("unaligned_{kind}{bytes}"));
            }
        }
    }
    for bits in BITS {
        let changes = CHANGES.map(|(operation, _)| operation);
        for operation in ["load", "store", "compare_exchange_val"]
            .into_iter()
            .chain(changes)
        {
            names.insert(format!("atomic{bits}_{operation}"));
        }
    }
    names
        .into_iter()
        .map(|name| format!("__tsan_{name}"))
        .collect()
}

fn every_function_of_the_instrumentation_is_there() {
    // After a build the cache contains the runtime of this tool, perhaps among others.
    let package = Package::plain("has_a_runtime", "fn main() {}");
    package.finishline(&["build"]).expect(0);
    let entries = fs::read_dir(shared("cache")).expect("a cache");
    let objects = entries.map(|entry| entry.expect("readable").path().join("runtime.o"));
    let newest = objects
        .filter(|object| object.exists())
        .max_by_key(|object| fs::metadata(object).and_then(|data| data.modified()).ok())
        .expect("a runtime");
    let data = fs::read(&newest).expect("readable");
    let object = object::File::parse(&*data).expect("an object");
    let defined: BTreeSet<String> = object
        .symbols()
        .filter(|symbol| symbol.is_definition() && symbol.is_global())
        .filter_map(|symbol| symbol.name().ok().map(str::to_owned))
        .filter(|name| name.starts_with("__tsan_"))
        .collect();
    assert_eq!(defined, functions());
}

/// Calls each function as the instrumentation does, and compares with the arithmetic of Rust.
fn atomic_functions_do_what_they_say() {
    let mut declarations = String::new();
    let mut calls = String::new();
    for bits in BITS {
        let symbol = |operation: &str| format!("__tsan_atomic{bits}_{operation}");
        let (load, store, cas) = (
            symbol("load"),
            symbol("store"),
            symbol("compare_exchange_val"),
        );
        declarations += &format!(
            "fn {load}(at: *const u{bits}, order: i32) -> u{bits};
             fn {store}(at: *mut u{bits}, value: u{bits}, order: i32);
             fn {cas}(at: *mut u{bits}, expected: u{bits}, new: u{bits}, order: i32, failed: i32) -> u{bits};\n"
        );
        calls += &format!(
            "let [a, b, c] = [0x0123_4567_89ab_cdef_0f1e_2d3c_4b5a_6978_u128, 0x8000_0000_0000_0001_7fff_ffff_ffff_fe83, 42].map(|x| x as u{bits});
             let mut cell = Aligned([a, c]);
             let at = &raw mut cell.0[0];
             assert_eq!({load}(at, 5), a);
             {store}(at, b, 5);
             assert_eq!(cell.0, [b, c]);
             assert_eq!({cas}(at, a, c, 5, 5), b);
             assert_eq!(cell.0, [b, c]);
             assert_eq!({cas}(at, b, a, 5, 0), b);
             assert_eq!(cell.0, [a, c]);\n"
        );
        for (operation, result) in CHANGES {
            let function = symbol(operation);
            declarations += &format!(
                "fn {function}(at: *mut u{bits}, value: u{bits}, order: i32) -> u{bits};\n"
            );
            calls += &format!(
                "cell.0[0] = a;
                 assert_eq!({function}(at, b, 4), a, \"{function}\");
                 assert_eq!(cell.0, [{result}, c], \"{function}\");\n"
            );
        }
    }
    let main = format!(
        "#[repr(align(16))] struct Aligned<T>([T; 2]);
         unsafe extern \"C\" {{ {declarations} }}
         fn main() {{ unsafe {{ {calls} }} }}"
    );
    let package = Package::plain("atomic_functions_do_what_they_say", &main);
    package.finishline(&["run"]).expect(4);
}

fn copies_do_what_they_say() {
    let package = Package::plain(
        "copies_do_what_they_say",
        "unsafe extern \"C\" {
             fn __tsan_memcpy(to: *mut u8, from: *const u8, bytes: usize) -> *mut u8;
             fn __tsan_memmove(to: *mut u8, from: *const u8, bytes: usize) -> *mut u8;
             fn __tsan_memset(to: *mut u8, byte: i32, bytes: usize) -> *mut u8;
         }
         fn main() {
             let mut bytes = [1, 2, 3, 4, 5, 6];
             let at = bytes.as_mut_ptr();
             unsafe {
                 assert_eq!(__tsan_memcpy(at, at.add(4), 2), at);
                 assert_eq!(bytes, [5, 6, 3, 4, 5, 6]);
                 assert_eq!(__tsan_memmove(at.add(1), at, 4), at.add(1));
                 assert_eq!(bytes, [5, 5, 6, 3, 4, 6]);
                 assert_eq!(__tsan_memset(at.add(2), 0x1ff, 3), at.add(2));
                 assert_eq!(bytes, [5, 5, 255, 255, 255, 6]);
             }
         }",
    );
    package.finishline(&["run"]).expect(4);
}

/// Two such accesses don't race with each other, but one and a plain access do. Each has its place.
fn sixteen_bytes_at_once_are_atomic() {
    let package = Package::with_rayon(
        "sixteen_bytes_at_once_are_atomic",
        "use core::arch::x86_64::cmpxchg16b;
         use std::sync::atomic::Ordering::SeqCst;
         #[repr(align(16))]
         struct Pair(u128);
         static mut PAIR: Pair = Pair(0);
         #[target_feature(enable = \"cmpxchg16b\")]
         unsafe fn add() {
             let pair = &raw mut PAIR.0;
             let mut seen = 0;
             loop {
                 let found = unsafe { cmpxchg16b(pair, seen, seen + (1 << 64), SeqCst, SeqCst) };
                 if found == seen { return }
                 seen = found;
             }
         }
         fn main() {
             let plain = || unsafe { PAIR.0 += 1 << 64 };
             match std::env::args().nth(1) {
                 Some(_) => rayon::join(|| unsafe { add() }, plain),
                 None => rayon::join(|| unsafe { add() }, || unsafe { add() }),
             };
             println!(\"{}\", unsafe { (&raw const PAIR.0).read() } >> 64);
         }",
    );
    let called = package.finishline(&["run"]).expect(0);
    assert_eq!(called.stdout, "2\n");
    assert!(
        called.stderr.contains("certified-order"),
        "{}",
        called.stderr
    );
    let called = package.finishline(&["run", "--", "plain"]).expect(66);
    let access = "src/main.rs:11:39   (1) atomic write of 16 bytes";
    assert!(called.stderr.contains(access), "{}", called.stderr);
}

fn what_is_ignored_is_not_told() {
    let package = Package::with_rayon(
        "what_is_ignored_is_not_told",
        "unsafe extern \"C\" {
             fn __tsan_ignore_thread_begin();
             fn __tsan_ignore_thread_end();
         }
         static mut TOTAL: u64 = 0;
         fn add() { unsafe { TOTAL += 1 } }
         fn add_ignored() {
             unsafe { __tsan_ignore_thread_begin(); __tsan_ignore_thread_begin() };
             add();
             unsafe { __tsan_ignore_thread_end() };
             add();
             unsafe { __tsan_ignore_thread_end() };
         }
         fn main() {
             rayon::join(add_ignored, add_ignored);
             match std::env::args().nth(1) {
                 Some(_) => _ = rayon::join(add, add),
                 None => {}
             }
         }",
    );
    package.finishline(&["run"]).expect(0);
    package.finishline(&["run", "--", "again"]).expect(66);
}
