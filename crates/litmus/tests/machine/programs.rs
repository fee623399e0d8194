//! Small programs that together use every statement of the language.

/// A name and a text.
pub const PROGRAMS: &[(&str, &str)] = &[
    (
        "increments",
        "param n = 2; var x;
        process worker[i in 0..n] { let r = x; x = r + 1; }
        process main { for i in 0..n { join(worker[i]); } assert x == n, \"an increment was lost\"; }",
    ),
    (
        "lock",
        "var x; lock m;
        process p[i in 0..3] { lock(m); x += i; let r = x; unlock(m); x = r; }",
    ),
    (
        "deadlock",
        "lock l[2];
        process p[i in 0..2] { lock(l[i]); lock(l[1 - i]); unlock(l[i]); unlock(l[1 - i]); }",
    ),
    (
        "try_lock",
        "lock m; var x;
        process p { let r = try_lock(m); if r { x = 1; unlock(m); } }
        process q { lock(m); let r = x; unlock(m); try_lock(m); }",
    ),
    (
        "wait and notify_one",
        "lock m; condvar c; var x;
        process p[i in 0..3] { lock(m); while x == 0 { wait(c, m); } x -= 1; unlock(m); }
        process q { for k in 0..2 { lock(m); x += 1; notify_one(c); unlock(m); } notify_one(c); }",
    ),
    (
        "wait and notify_all",
        "lock m[2]; condvar c[2]; var done;
        process p[i in 0..2] { lock(m[i]); wait(c[1], m[i]); done += 1; unlock(m[i]); }
        process q { notify_all(c[1]); notify_one(c[0]); notify_all(c[1]); }",
    ),
    (
        "await one",
        "var turn; var x;
        process p[i in 0..2] { for k in 0..2 { await turn == i; x += 1; turn = 1 - i; } }",
    ),
    (
        "await two",
        "var x, y, z;
        process p { await x == 1 && y == 1 || z == 3; z = x + y; }
        process q { x = 1; x = 0; x = 1; }
        process r { y = 1; y = 0; z = 3; }",
    ),
    (
        "await a cell",
        "var a[3], x;
        process p[i in 0..3] { await a[i] >= i; a[(i + 1) % 3] = i + 1; x = i; }",
    ),
    (
        "await any cell",
        "var a[3] = [0, 0, 5], x, y;
        process p { await a[x] > 0; y = 1; }
        process q { x = 1; x = 2; }
        process r { a[1] = 1; a[2] = 0; }",
    ),
    (
        "await that fails",
        "var x; var a[2];
        process p { await 1 / x > 0; }
        process q { x = 1; x = 0; }
        process r { let i = 1; i += 1; await a[i] == 0; }
        process s { let i = 2; await i < 2 && a[i] == 0; }",
    ),
    (
        "atomic await",
        "var free = 2, x;
        process p[i in 0..3] { atomic { await free > 0; free -= 1; } x = i; atomic { free += 1; if x == i { x = 7; } } }",
    ),
    (
        "atomic two",
        "var x, y, a[2];
        process p { atomic { await x == y; x = 1; y = x + 1; } a[0] = y; }
        process q { atomic { if x > 0 { y = 1; } else if a[0] > 0 { y = 2; } else { a[1] = 5; } } }
        process r { atomic { let s = x; for k in 0..s + 1 { if k == 1 { break; } a[k] = 3; continue; } } x = y; }",
    ),
    (
        "atomic loops",
        "var a[4], n = 2;
        process p { while true { atomic { if a[0] == 0 { a[0] = 1; continue; } if a[1] == 1 { break; } a[3] += 1; a[1] = 1; } } }
        process q { atomic { for k in 0..=n { a[k] = k; assert a[k] == k; } } }
        process r { atomic { for k in 1..3 { let v = a[k]; if v > 1 && a[v] == 0 { a[v] = 9; } } } n = 1; }",
    ),
    (
        "atomic assume",
        "var x, y;
        process p { atomic { y = 1; assume x == 0; y = 2; } }
        process q { x = 1; x = 0; let s = y; }",
    ),
    (
        "cas",
        "var x, won[3];
        process p[i in 0..3] { let r = cas(x, 0, i + 1); if r { won[i] = 1; } else { cas(x, i, 5); } }",
    ),
    (
        "swap and fetch_add",
        "var x = 3, y;
        process p { let a = swap(x, 5); let b = fetch_add(y, a); y -= b; }
        process q { let a = fetch_add(x, 1); swap(y, a); fetch_add(x, y); }",
    ),
    (
        "spawn and join",
        "var x;
        task leaf(i) { x += i; }
        task node(i) { let l = spawn leaf(i); let r = spawn leaf(i + 1); join(l); join(r); x = x * 1; }
        process main { let a = spawn node(1); spawn leaf(x); join(a); let r = x; }"
    ),
    (
        "spawn one or the other",
        "var x;
        task one(a) { let r = a; x = r; }
        task two(a, b) { let r = a + b; let s = r + x; x = s; skip; }
        process p { if x == 0 { let h = spawn one(1); } else { let h = spawn two(1, x); join(h); } join(h); }
        process q { x = 1; let g = spawn one(7); send(g, 1); }",
    ),
    (
        "mailbox",
        "process p[i in 0..2] { send(q, (1, i)); send(q, 2); }
        process q { receive 2; receive (1, ?a); receive (?b, a); receive _; }",
    ),
    (
        "timeout",
        "var x;
        process p { send(q, 1); x = 1; send(q, 2); }
        process q { let a = 2; receive { a => { x = 2; } timeout => { x = 3; } } receive { 1 => { skip; } ?b => { x = b; } } }",
    ),
    (
        "sends to a family",
        "var x;
        process p[i in 2..=3] { receive ?a; receive { ?a => {} timeout => {} } }
        process q { atomic { let t = x; send(p[2 + t], 1); send(p[2], (2)); if t == 1 { send(p[3], 3); } } }
        process r { x = 1; send(p[2], x); let me = 0; send(r, me); receive me; }",
    ),
    (
        "handles and mailboxes",
        "var x;
        task echo(k) { receive ?v; x = v + k; send(main, v); }
        process main { let h = spawn echo(1); let g = spawn echo(2); send(h, 5); send(g, 6); receive ?a; receive ?b; join(g); }",
    ),
    (
        "choose and assume",
        "var x, y;
        process p { let r = choose(3); x = r; if r == 2 { assume y == 1; } choose(2); }
        process q { y = 1; assume x < 2; y = x; }",
    ),
    (
        "failures",
        "var x, a[2]; lock m; lock l[2];
        process p { let r = 10 / x; x = r; }
        process q { a[x] = 1; a[x + 1] = 2; a[1 + x] = 3; }
        process u { x = 1; let k = 2; lock(m); unlock(m); unlock(m); x = 3; }
        process s { let k = 1; lock(l[k]); lock(l[k + 1]); x = 4; }
        process t { join(s); let n = 0; choose(n); }",
    ),
    (
        "overflow",
        "var x = 9223372036854775806, y;
        process p { x += 1; y = x + 1; x = 0; }
        process q { x -= 1; fetch_add(x, 2); y = -x; }",
    ),
    (
        "hang",
        "var x;
        process p { x = 1; let i = 0; while i < 10 { i = 1 - i; } x = 2; }
        process q { join(p); x = 3; let k = 0; while true { k += 1; if k > 100 { break; } } x = k; }",
    ),
    (
        "short circuits",
        "var x, y, z;
        process p { let s = x > 0 && y > 0; assert x == 0 || y == 1 || z == s; }
        process q { if y == 0 || x == 1 { x = 1; } while z < 2 && x > 0 { z += 1; } }
        process r { y = 1; z = x || y; x = 0; }",
    ),
    (
        "loops",
        "var n = 2, x;
        process p { for i in 0..n { if i == 1 { continue; } x += 1; } for i in 0..=x { if i == 2 { break; } n = i; } }
        process q { n = 3; while x < 3 { x += 1; if x == 2 { break; } } assert false; }",
    ),
];
