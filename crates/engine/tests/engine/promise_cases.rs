//! Programs with promises and futures. Compiled code must do what the interpreter does.

/// Programs without arguments, each for something that may go wrong.
pub(crate) const PROGRAMS: &[(&str, &str)] = &[
    (
        "a task waits deep inside calls",
        "fn deep(n: int, p: promise<int>): int {
            if n == 0 { return p.get(); }
            return 1 + deep(n - 1, p);
        }
        fn main() {
            let p = new promise<int>();
            let q = new promise<int>();
            finish {
                async { print(deep(20000, p)); }
                async { print(deep(3, q) + deep(5000, q) + deep(40, p)); }
                p.set(1);
                q.set(2);
            }
            print(deep(10, p));
        }",
    ),
    (
        "a task grows and shrinks between waits",
        "fn deep(n: int, p: promise<int>): int {
            if n == 0 { return p.get(); }
            return 1 + deep(n - 1, p);
        }
        fn main() {
            let n = 50;
            let a = new promise<int>[n];
            let b = new promise<int>[n];
            for i in 0..n { a[i] = new promise<int>(); b[i] = new promise<int>(); }
            async {
                var sum = 0;
                for i in 0..n { sum += deep((i * 37) % 400, a[i]); b[i].set(sum); }
                print(sum);
            }
            var sum = 0;
            for i in 0..n { a[i].set(i); sum += b[i].get(); }
            print(sum);
        }",
    ),
    (
        "waiters of one promise go on in their order",
        "fn main() {
            let p = new promise<int>();
            for i in 0..10 { async { print(i, p.get()); } }
            print(\"set\");
            p.set(7);
            print(\"end\");
        }",
    ),
    (
        "a woken task waits again, and is woken again",
        "fn main() {
            let n = 20;
            let p = new promise<int>[n];
            for i in 0..n { p[i] = new promise<int>(); }
            for t in 0..5 {
                async { var sum = 0; for i in 0..n { sum += p[i].get(); } print(t, sum); }
            }
            for i in 0..n { p[n - 1 - i].set(i); }
        }",
    ),
    (
        "a set lets a task go on that sets in turn",
        "fn main() {
            let n = 30;
            let p = new promise<int>[n + 1];
            for i in 0..n + 1 { p[i] = new promise<int>(); }
            for i in 0..n { async { let got = p[i].get(); print(i); p[i + 1].set(got + i); } }
            p[0].set(1);
            print(p[n].get());
        }",
    ),
    (
        "the owner of a finish waits for a task that waits",
        "var x = 0;
        fn main() {
            let p = new promise<int>();
            let done = new promise<int>();
            async {
                finish { async { x = p.get(); } async { print(\"second\"); } }
                print(x);
                done.set(x + 1);
            }
            print(\"main\");
            p.set(3);
            print(done.get());
        }",
    ),
    (
        "finishes inside each other, each with an owner that waits",
        "fn nest(n: int, p: promise<int>) {
            finish {
                if n > 0 { async { nest(n - 1, p); } }
                async { print(n, p.get()); }
            }
            print(\"closed\", n);
        }
        fn main() {
            let p = new promise<int>();
            async { nest(8, p); }
            print(\"set\");
            p.set(1);
            finish { nest(2, p); }
        }",
    ),
    (
        "sync waits for spawned calls that wait",
        "fn wait(p: promise<int>, q: promise<int>): int { let got = p.get(); q.set(got); return got; }
        fn both(a: promise<int>, b: promise<int>, c: promise<int>): int {
            let r = new int[2];
            r[0] = spawn wait(a, b);
            r[1] = spawn wait(b, c);
            sync;
            print(\"synced\");
            spawn wait(c, new promise<int>());
            sync;
            return r[0] + r[1];
        }
        fn main() {
            let a = new promise<int>();
            async { print(both(a, new promise<int>(), new promise<int>())); }
            print(\"set\");
            a.set(21);
        }",
    ),
    (
        "an isolated block wakes at its end, in order",
        "var x = 0;
        fn main() {
            let p = new promise<int>();
            let q = new promise<int>();
            for i in 0..3 { async { let got = p.get(); isolated { x += got; } print(\"p\", i, x); } }
            for i in 0..2 { async { let got = q.get(); isolated { x += got; } print(\"q\", i, x); } }
            isolated { q.set(10); x += 1; p.set(1); x += 1; print(\"inside\", x); }
            print(\"behind\", x);
            isolated { x = 0; }
        }",
    ),
    (
        "an isolated block in a woken task wakes more",
        "var x = 0;
        fn give(p: promise<int>, n: int) { isolated { x += n; p.set(x); } }
        fn main() {
            let p = new promise<int>[6];
            for i in 0..6 { p[i] = new promise<int>(); }
            for i in 0..5 { async { let got = p[i].get(); give(p[i + 1], got); print(i, got, x); } }
            give(p[0], 1);
            print(p[5].get());
        }",
    ),
    (
        "futures of every type",
        "struct Pair { a: int, b: float }
        fn pair(n: int): Pair { let p = new Pair(); p.a = n; p.b = 0.5 * float(n); return p; }
        fn row(n: int): int[] { let a = new int[n]; for i in 0..n { a[i] = i; } return a; }
        fn main() {
            let i = future { 6 * 7 };
            let f = future { 2.5 };
            let t = future { 3 > 2 };
            let g = future { 3 < 2 };
            let c = future { byte(200) };
            let s = future { pair(9) };
            let a = future { row(5) };
            let d = future { future { 1.5 } };
            print(i.get(), f.get(), t.get(), g.get(), c.get(), c.get() + byte(100));
            print(s.get().a, s.get().b, a.get()[4], len(a.get()), d.get().get());
        }",
    ),
    (
        "promises of every type, set late",
        "struct Pair { a: int, b: float }
        fn main() {
            let f = new promise<float>();
            let t = new promise<bool>();
            let c = new promise<byte>();
            let s = new promise<Pair>();
            let n = new promise<Pair>();
            async { print(f.get(), t.get(), c.get(), s.get().b, n.get() == null); }
            f.set(-0.25);
            t.set(true);
            c.set(byte(255));
            let p = new Pair();
            p.b = 8.5;
            s.set(p);
            n.set(null);
        }",
    ),
    (
        "many captures of all types",
        "fn main() {
            let p = new promise<float>();
            let a = 1; let b = 2.5; let c = true; let d = byte(9); let e = new int[3];
            let f = 3; let g = 4.5; let h = false; let i = byte(8); let j = new float[2];
            let k = 5; let l = 6.5; let m = 7; let n = 8.5; let o = 9; let q = 10.5;
            e[1] = 11; j[1] = 12.5;
            async {
                let got = p.get();
                print(got, a, b, c, d, e[1], f, g, h, i, j[1], k, l, m, n, o, q);
            }
            p.set(0.5);
        }",
    ),
    (
        "a future of a future, recursively",
        "fn fib(n: int): int {
            if n < 2 { return n; }
            let a = future { fib(n - 1) };
            let b = future { fib(n - 2) };
            return a.get() + b.get();
        }
        fn main() { print(fib(15)); }",
    ),
    (
        "a table whose cells wait for each other",
        "fn main() {
            let n = 12;
            let cell = new promise<int>[n, n];
            for i in 0..n { for j in 0..n { cell[i, j] = new promise<int>(); } }
            finish {
                for i in 0..n { for j in 0..n { async {
                    let r = n - 1 - i;
                    let c = n - 1 - j;
                    let up = r > 0 ? cell[r - 1, c].get() : 0;
                    let left = c > 0 ? cell[r, c - 1].get() : 1;
                    cell[r, c].set((up + left) % 1000007);
                } } }
            }
            print(cell[n - 1, n - 1].get());
        }",
    ),
    (
        "tasks that can't wait create, wake and are woken around",
        "var x = 0;
        fn waker(p: promise<int>, q: promise<int>, n: int) {
            async { x += q.get(); print(\"inner\", n, x); }
            p.set(n);
            if n > 0 { async { x += 100; print(\"calls\", n); } }
        }
        fn main() {
            let n = 6;
            let p = new promise<int>[n];
            let q = new promise<int>();
            for i in 0..n { p[i] = new promise<int>(); }
            for i in 0..n { async { print(\"got\", p[i].get()); } }
            for i in 0..n { async { waker(p[i], q, i); print(\"back\", i); } }
            q.set(1000);
            print(x);
        }",
    ),
    (
        "what a waiting task knew of memory is not known any more",
        "struct Box { v: int }
        var g = 0;
        fn main() {
            let p = new promise<int>();
            let q = new promise<int>();
            let a = new int[2];
            let b = new Box();
            async {
                g = 1; a[0] = 1; b.v = 1;
                let got = p.get();
                print(g, a[0], b.v, got);
                g = 3; a[0] = 3; b.v = 3;
                q.set(1);
            }
            g = 2; a[0] = 2; b.v = 2;
            p.set(5);
            print(g, a[0], b.v);
            var sum = 0;
            for i in 0..3 { sum += g + a[0] + b.v + q.get(); }
            print(sum);
        }",
    ),
    (
        "begin_finish and end_finish in different functions",
        "fn open(n: int) { begin_finish; if n > 0 { open(n - 1); } }
        fn close(n: int) { end_finish; if n > 0 { close(n - 1); } }
        fn main() {
            let p = new promise<int>();
            async {
                open(3);
                async { print(\"got\", p.get()); }
                begin_finish;
                async { print(\"also\", p.get()); }
                close(4);
                print(\"closed\");
            }
            print(\"set\");
            p.set(1);
        }",
    ),
    (
        "a task ends with a begin_finish open, after a wait",
        "fn main() {
            let p = new promise<int>();
            async { begin_finish; p.get(); }
            p.set(1);
        }",
    ),
    (
        "an end_finish too many, after a wait",
        "fn main() {
            let p = new promise<int>();
            async { begin_finish; p.get(); end_finish; end_finish; }
            p.set(1);
        }",
    ),
    (
        "a finish ends with a begin_finish open, and its tasks wait",
        "fn main() {
            let p = new promise<int>();
            finish { begin_finish; async { p.get(); } }
            p.set(1);
        }",
    ),
    (
        "main ends with a begin_finish open, and its tasks wait",
        "fn main() { let p = new promise<int>(); begin_finish; async { p.get(); } }",
    ),
    (
        "sync inside a begin_finish",
        "fn wait(p: promise<int>) { p.get(); }
        fn main() {
            let p = new promise<int>();
            spawn wait(p);
            begin_finish;
            sync;
        }",
    ),
    (
        "a woken task fails an assertion",
        "fn main() {
            let p = new promise<int>();
            for i in 0..4 { async { let got = p.get(); print(i); assert(i < 2, \"at\", i, got); } }
            p.set(1);
            print(\"never\");
        }",
    ),
    (
        "a woken task divides by zero",
        "fn main() { let p = new promise<int>(); async { print(1 / p.get()); } p.set(0); }",
    ),
    (
        "a woken task goes out of bounds",
        "fn main() {
            let p = new promise<int>();
            let a = new int[3];
            async { finish { async { a[p.get()] = 1; } } }
            p.set(3);
        }",
    ),
    (
        "null is got",
        "fn main() { let p = new promise<int>[1]; async { p[0].get(); } }",
    ),
    (
        "null is set",
        "fn main() { let p = new promise<int>[1]; async { p[0].set(1); } }",
    ),
    (
        "a second set by a woken task",
        "fn main() {
            let p = new promise<int>();
            async { p.get(); p.set(2); }
            p.set(1);
        }",
    ),
    (
        "a second set in an isolated block",
        "fn main() {
            let p = new promise<int>();
            async { print(p.get()); }
            isolated { p.set(1); p.set(2); }
        }",
    ),
    (
        "a deadlock of many, at gets, finishes, a sync and the end of main",
        "fn wait(p: promise<int>) { p.get(); }
        fn all(p: promise<int>) { spawn wait(p); sync; }
        fn main() {
            let p = new promise<int>();
            let q = new promise<int>();
            async { finish { async { p.get(); } async { q.get(); } } }
            async { all(q); }
            async { begin_finish; async { finish { async { p.get(); } } } end_finish; }
            for i in 0..3 { async { q.get(); p.set(1); } }
            print(\"main ends\");
        }",
    ),
    (
        "a deadlock found when the last ready task ends",
        "fn main() {
            let p = new promise<int>();
            finish { async { p.get(); } async { print(\"last\"); } }
        }",
    ),
    (
        "a deadlock with main at a get, after much work",
        "fn fib(n: int): int {
            if n < 2 { return n; }
            let a = future { fib(n - 1) };
            return a.get() + fib(n - 2);
        }
        fn main() {
            let p = new promise<int>();
            for i in 0..5 { async { print(fib(8) + p.get()); } }
            print(fib(6));
            p.get();
        }",
    ),
    (
        "a deadlock of crossed gets",
        "fn main() {
            let a = new promise<int>();
            let b = new promise<int>();
            async { a.get(); b.set(1); }
            b.get();
            a.set(1);
        }",
    ),
    (
        "a deadlock of three in a ring",
        "fn pass(from: promise<int>, to: promise<int>) { to.set(from.get() + 1); }
        fn main() {
            let a = new promise<int>();
            let b = new promise<int>();
            let c = new promise<int>();
            async pass(a, b);
            async pass(b, c);
            pass(c, a);
        }",
    ),
    (
        "a deadlock by a set that does not happen",
        "fn maybe(p: promise<int>, yes: bool) { if yes { p.set(1); } }
        fn main() {
            let p = new promise<int>();
            let q = new promise<int>();
            async maybe(p, false);
            async { p.get(); q.set(2); }
            q.get();
        }",
    ),
    (
        "a deadlock by promises in an array",
        "fn main() {
            let n = 3;
            let p = new promise<int>[n];
            for i in 0..n { p[i] = new promise<int>(); }
            finish {
                for i in 0..n - 1 { async { p[i + 1].get(); p[i].set(i); } }
            }
            p[n - 1].set(0);
        }",
    ),
    (
        "a deadlock at a finish whose task waits for its owner",
        "fn main() {
            let p = new promise<int>();
            finish {
                async { print(\"ends\"); }
                async { finish { async { p.get(); } } }
            }
            p.set(1);
        }",
    ),
    (
        "a deadlock of futures that wait for each other",
        "fn other(handle: promise<future<int>>): int { return handle.get().get() + 1; }
        fn main() {
            let one = new promise<future<int>>();
            let two = new promise<future<int>>();
            let f = future { other(one) };
            let g = future { other(two) };
            one.set(g);
            two.set(f);
            print(f.get());
        }",
    ),
    (
        "a deadlock in which a task may set any promise of an array",
        "fn main() {
            let p = new promise<int>[2];
            for i in 0..2 { p[i] = new promise<int>(); }
            async { let i = p[0].get(); p[i].set(1); }
            p[1].get();
        }",
    ),
    (
        "a deadlock after a race",
        "var x = 0;
        fn main() {
            let p = new promise<int>();
            async { x = 1; }
            x = 2;
            p.get();
        }",
    ),
    (
        "races of tasks that wait",
        "var x = 0;
        fn main() {
            let p = new promise<int>();
            let a = new int[4];
            async { x = 1; p.set(1); a[0] = 1; a[1] = 2; }
            async { p.get(); x = 2; a[0] = 3; }
            finish { async { p.get(); a[2] = a[1]; } }
            a[2] = 5;
            x += 1;
        }",
    ),
    (
        "many reads between switches",
        "var g = 1;
        fn main() {
            let n = 40;
            let p = new promise<int>[n];
            let a = new int[n];
            for i in 0..n { p[i] = new promise<int>(); a[i] = i; }
            for t in 0..6 { async {
                var sum = 0;
                for i in 0..n { sum += a[i] + g; sum += p[i].get(); sum += a[n - 1 - i] + a[i]; }
                isolated { g += sum; }
            } }
            for i in 0..n { a[i] += 1; p[i].set(a[i]); }
        }",
    ),
    (
        "nothing is checked",
        "fn main() {
            let f = future { 1 };
            let g = future { f.get() + 1 };
            finish { async { print(g.get()); } }
        }",
    ),
    (
        "dead objects while tasks wait",
        "struct Node { next: Node, value: int }
        fn list(n: int): Node {
            var head: Node = null;
            for i in 0..n { let node = new Node(); node.next = head; node.value = i; head = node; }
            return head;
        }
        fn sum(list: Node): int {
            var at = list;
            var sum = 0;
            while at != null { sum += at.value; at = at.next; }
            return sum;
        }
        fn main() {
            let p = new promise<Node>();
            let done = new promise<int>();
            for i in 0..50 { async {
                let own = list(i);
                let got = p.get();
                let more = list(100);
                print(sum(own) + sum(got) + sum(more));
            } }
            for i in 0..200 { list(100); }
            p.set(list(10));
            for i in 0..200 { list(100); }
            done.set(1);
        }",
    ),
];
