//! The kinds of errors and what `finishline explain` says about each.

macro_rules! codes {
    ($($variant:ident $name:literal $title:literal $explanation:literal)*) => {
        /// A kind of error. Its name, such as `E0303`, is stable.
        #[derive(Clone, Copy, PartialEq, Eq, Debug, Hash)]
        pub enum Code { $($variant,)* }

        impl Code {
            pub const ALL: &[Code] = &[$(Code::$variant,)*];

            pub const fn name(self) -> &'static str {
                match self { $(Code::$variant => $name,)* }
            }

            /// The kind of mistake in a few words.
            pub const fn title(self) -> &'static str {
                match self { $(Code::$variant => $title,)* }
            }

            /// Why this is an error, and what to write instead.
            pub const fn explanation(self) -> &'static str {
                match self { $(Code::$variant => $explanation,)* }
            }
        }
    };
}

impl Code {
    pub fn from_name(name: &str) -> Option<Code> {
        Code::ALL
            .iter()
            .copied()
            .find(|code| code.name().eq_ignore_ascii_case(name))
    }
}

codes! {
    NotText "E0001" "the file is not text"
        "A source file is UTF-8 text of less than 4 GiB. Convert the file, for example with `iconv -t UTF-8`."
    UnknownCharacter "E0002" "a character that no token starts with"
        "Outside comments and strings only ASCII letters, digits and the operators of the language may occur."
    Unclosed "E0003" "something is opened and never closed"
        "A `/*` comment, a string, a byte literal or a bracket is not closed. Comments nest: each `/*` needs its own `*/`. A string ends on its line."
    BadLiteral "E0004" "a literal that stands for no value"
        "An int literal is at most 9223372036854775807, a float literal has digits on both sides of the point, a byte literal is one ASCII character or an escape: 'a', '\\n', '\\x41'."
    Unexpected "E0005" "something else was expected here"
        "The text does not follow the grammar; see docs/language.md. The parser goes on at the next statement, so the file's other errors are shown too."
    TooDeep "E0006" "nested too deeply"
        "Statements and expressions may be nested 200 deep; a chain of operators counts one level each. Split the expression with `let`, or move inner statements into a function."
    Reserved "E0007" "a reserved word"
        "The word `as` is reserved for a construct that is still to come. Choose another name."

    UnknownName "E0101" "an unknown name"
        "The name is declared in none of the enclosing blocks, nor as a global. A name is visible from its declaration to the end of its block."
    UnknownFunction "E0102" "an unknown function"
        "No function and no built-in function has this name."
    UnknownType "E0103" "an unknown type"
        "Types are int, float, bool, byte, lock, the structs of the file, and arrays, promises and futures of these."
    UnknownField "E0104" "an unknown field"
        "The struct has no field of this name."
    Duplicate "E0105" "a name is declared twice"
        "Structs, functions and globals share one name space. Within one block, one parameter list or one struct a name can be declared once; an inner block may hide an outer name."
    NotAValue "E0106" "a name that is not a value"
        "The name of a function or struct stands where a value is needed. Functions are called, `f(x)`; objects are made, `new S()`."
    UnknownMethod "E0107" "an unknown method"
        "A promise has the methods `set` and `get`, a future has `get`. Other types have none; a function is called as `f(x)`."

    Mismatch "E0201" "a value of the wrong type"
        "There are no implicit conversions: write `float(n)`, `int(x)` or `byte(n)`, and 2.0 where a float is meant."
    BadOperand "E0202" "an operator that does not take these types"
        "Arithmetic takes two ints, two floats or two bytes; bit operations two ints, bytes or bools; shifts two ints; comparison two values of one type; `&&`, `||` and `!` bools."
    WrongCount "E0203" "a wrong number of arguments"
        "A call gives one argument for each parameter."
    NotAnArray "E0204" "not an array, or not that many dimensions"
        "An element is written with one index for each dimension: `m[i, j]` of a `float[,]`, `a[i][j]` of an `int[][]`."
    NotAStruct "E0205" "not a struct"
        "Only structs have fields. The size of an array is `len(a)`."
    NotAssignable "E0206" "this can't be assigned"
        "`let` names, parameters, loop counters and global constants keep their value. Declare a variable with `var`."
    NotAPlace "E0207" "not a place"
        "The left side of an assignment is a `var`, a global `var`, an array element or a field."
    MissingReturn "E0208" "a path without a return"
        "A function with a result type returns a value on every path. A `while true` without `break` counts as such a path."
    NoValue "E0209" "a call that has no value"
        "The function returns nothing, so its call can't be used as a value. Give it a result type: `fn f(): int { … }`."
    NeedsType "E0210" "the type can't be seen"
        "`null` alone does not tell its type, and a declaration without a value needs one: `let p: Node = null;`."
    Text "E0211" "a string outside print and assert"
        "Strings are only arguments of `print` and `assert`. There is no string type."
    GlobalValue "E0212" "a global needs a literal"
        "The starting value of a global is a literal, or a negated number. Compute other values at the start of `main`."
    NoEffect "E0213" "a statement without effect"
        "Only a call, a `set`, a `get` or a future can stand as a statement of its own."
    ZeroStep "E0214" "a range with step 0"
        "A range counts up with a positive step and down with a negative one."

    NoLoop "E0301" "break or continue outside a loop"
        "`break` and `continue` belong to the innermost `for` or `while` of the same task."
    LeavesTask "E0302" "control can't leave a parallel body"
        "`break`, `continue` and `return` can't leave the body of `async`, `finish` or `forall`: the body belongs to another task, or its end waits for tasks. Use a condition instead."
    MutableCapture "E0303" "a task captures a variable"
        "A task gets copies of the locals it uses when it is created. A `var` could change afterwards, and the change would not be seen; so only `let` names, parameters and loop counters can be captured. Copy it, `let now = x;`, or share it on the heap."
    InIsolated "E0304" "a parallel statement inside isolated"
        "An isolated block excludes all others until it ends. Creating or joining tasks, acquiring or releasing a lock, or another isolated block, inside it could never be scheduled freely, so it is refused."
    CallInIsolated "E0305" "a call inside isolated that creates or joins tasks, or uses locks"
        "The function, or one it calls, contains a parallel statement; see E0304."
    SpawnPlace "E0306" "a spawned result needs a shared place"
        "The spawned task writes its result itself, while the creator goes on. So the place is an element, a field or a global; locals are private to their task."
    SpawnCallee "E0307" "spawn calls a function of the program"
        "Built-in functions and conversions can't be spawned."

    NoMain "E0401" "there is no main"
        "A program starts at `fn main(…)`."
    MainParameter "E0402" "a parameter of main that cannot come from a command line"
        "The parameters of `main` are given on the command line, so they are of type int, float, bool or byte."
    MainResult "E0403" "main returns nothing"
        "Print the result, or check it with `assert`."
}
