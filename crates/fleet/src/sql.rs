//! All that is said to the database.
//!
//! Every statement is a transaction by itself, or one of a batch in one; what it does it may be asked to do
//! again, since an answer may get lost. Times are those of the server. What is asked for is what services
//! that speak PostgreSQL's protocol have: no notifications, no advisory locks.

/// The version of the tables. A later one is refused; an earlier one has some of them, and gets the others.
pub const LAYOUT: i32 = 3;

/// Makes the tables that are not there.
///
/// `item` has what is to be done, and what is being done; an item that is done is taken out. `state` of an
/// item: 0 ready, 1 held under a lease, 3 given up, 4 it ends the search. `position` is the beginning of its
/// place, short enough for an index. `result` has what came of items. Both are of a generation of their
/// search: when it begins again, those of earlier ones are void. There are no foreign keys from these, which
/// would have every commit lock the search. `blob` has programs that searches name by their hashes.
pub const TABLES: &str = "
create schema if not exists mazurka;
create table if not exists mazurka.layout (version int primary key);
create table if not exists mazurka.search (
    id bigint generated always as identity primary key,
    hash text not null,
    header bytea not null,
    title text not null,
    owner text not null default current_user,
    state text not null default 'running',
    reported boolean not null default false,
    generation int not null default 0,
    ends_at bytea,
    begun timestamptz not null default now(),
    ended timestamptz
);
create unique index if not exists search_live on mazurka.search (hash)
    where not reported and state <> 'cancelled';
create table if not exists mazurka.item (
    id bigint generated always as identity primary key,
    search bigint not null,
    generation int not null,
    place bytea not null,
    position bytea not null,
    state smallint not null default 0,
    lease bigint not null default 0,
    tries smallint not null default 0,
    worker bigint,
    until timestamptz,
    share double precision not null,
    body bytea not null
) with (fillfactor = 70);
create index if not exists item_ready on mazurka.item (search, generation, position) where state = 0;
create index if not exists item_held on mazurka.item (until) where state = 1;
create index if not exists item_of on mazurka.item (search, generation);
create table if not exists mazurka.result (
    item bigint primary key,
    search bigint not null,
    generation int not null,
    lease bigint not null,
    worker bigint not null,
    place bytea not null,
    share double precision not null,
    executions bigint not null,
    failures int not null,
    milliseconds bigint not null,
    part bytea,
    at timestamptz not null default now()
);
create index if not exists result_of on mazurka.result (search, generation, place);
create table if not exists mazurka.found_out (
    search bigint not null,
    generation int not null,
    body bytea not null,
    primary key (search, generation)
);
create table if not exists mazurka.worker (
    id bigint primary key,
    host text not null,
    process bigint not null,
    threads int not null,
    version text not null,
    joined timestamptz not null default now(),
    seen timestamptz not null default now(),
    items bigint not null default 0,
    note text not null default ''
);
create table if not exists mazurka.blob (
    hash text primary key,
    bytes bytea not null,
    wanted timestamptz not null default now()
);
alter table mazurka.worker add column if not exists executions bigint not null default 0;
insert into mazurka.layout values (3) on conflict do nothing;
";

/// Whether the tables are there.
pub const HAS_TABLES: &str = "select to_regclass('mazurka.layout') is not null";

/// The version of the tables that are there.
pub const LAYOUT_THERE: &str = "select max(version) from mazurka.layout";

/// Begins a search, with its first item, unless there is one of the same program that is not over.
pub const BEGIN: &str = "
with begun as (
    insert into mazurka.search (hash, header, title) values ($1, $2, $3)
    on conflict (hash) where not reported and state <> 'cancelled' do nothing
    returning id
), first as (
    insert into mazurka.item (search, generation, place, position, share, body)
    select id, 0, ''::bytea, ''::bytea, 1.0, $4 from begun
)
select id from begun";

/// The search of a program that is not over.
pub const FIND: &str =
    "select id from mazurka.search where hash = $1 and not reported and state <> 'cancelled'";

/// The searches that are not over.
pub const UNFINISHED: &str =
    "select id, title from mazurka.search where not reported and state <> 'cancelled' order by id";

/// What a search is.
pub const SEARCH: &str = "select hash, header, owner = current_user from mazurka.search where id = $1";

/// Keeps a program, once.
pub const PUT_BLOB: &str = "
insert into mazurka.blob (hash, bytes) values ($1, $2) on conflict (hash) do update set wanted = now()";

/// A program.
pub const BLOB: &str = "select bytes from mazurka.blob where hash = $1";

/// What was found out, generation by generation.
pub const FOUND_OUT: &str =
    "select body from mazurka.found_out where search = $1 and generation <= $2 order by generation";

/// All that was found out.
pub const ALL_FOUND_OUT: &str = "select body from mazurka.found_out where search = $1 order by generation";

/// Has workers go on with a search that was put aside.
pub const GO_ON: &str = "update mazurka.search set state = 'running' where id = $1 and state = 'paused'";

/// Puts a search aside: nothing more of it is taken.
pub const PAUSE: &str = "update mazurka.search set state = 'paused' where id = $1 and state = 'running'";

/// Nothing is left to do of a search, unless it has begun again meanwhile.
pub const FINISH: &str = "
update mazurka.search set state = 'done', ended = coalesce(ended, now())
where id = $1 and generation = $2 and state in ('running', 'paused', 'done')";

/// Somebody was told what came of a search.
pub const REPORTED: &str = "update mazurka.search set reported = true where id = $1 and state = 'done'";

/// Ends a search for good.
pub const CANCEL: &str = "
update mazurka.search set state = 'cancelled', ended = now()
where id = $1 and state in ('running', 'paused', 'done') and not reported";

/// What is left of searches that are over.
pub const SWEEP: [&str; 5] = [
    "delete from mazurka.item i using mazurka.search s where i.search = s.id
     and (s.state = 'cancelled' or i.generation < s.generation)",
    "delete from mazurka.result r using mazurka.search s where r.search = s.id
     and (s.state = 'cancelled' or r.generation < s.generation)",
    "delete from mazurka.worker where seen < now() - interval '1 day'",
    "with old as (
         delete from mazurka.search
         where (reported or state = 'cancelled') and ended < now() - interval '1 day'
         returning id
     ), items as (delete from mazurka.item where search in (select id from old)
     ), results as (delete from mazurka.result where search in (select id from old))
     delete from mazurka.found_out where search in (select id from old)",
    // A search names its program in its header.
    "delete from mazurka.blob b where wanted < now() - interval '1 day' and not exists (
         select 1 from mazurka.search s where position(convert_to(b.hash, 'UTF8') in s.header) > 0)",
];

/// How far a search is. Items after the one that ends it don't matter.
pub const LOOK: &str = "
select s.state, s.generation, s.ends_at,
    (select count(*) from mazurka.item i where i.search = s.id and i.generation = s.generation
        and i.state = 0 and (s.ends_at is null or i.place < s.ends_at)) as ready,
    (select count(*) from mazurka.item i where i.search = s.id and i.generation = s.generation
        and i.state = 1 and (s.ends_at is null or i.place < s.ends_at)) as held,
    r.executions, r.share, r.results,
    (select coalesce(sum(w.threads), 0) from mazurka.worker w
        where w.seen > now() - interval '60 s')::bigint as threads
from mazurka.search s
cross join lateral (
    select coalesce(sum(executions), 0)::bigint as executions, coalesce(sum(share), 0.0) as share,
        count(*) as results
    from mazurka.result where search = s.id and generation = s.generation
) r
where s.id = $1";

/// What came of the items of a search, without those after the one that ends it.
pub const PARTS: &str = "
select r.part from mazurka.search s join mazurka.result r on r.search = s.id and r.generation = s.generation
where s.id = $1 and r.part is not null and (s.ends_at is null or r.place < s.ends_at)
order by r.place";

/// What came of items before which nothing is left to do but what was given up, behind a place, in order.
pub const RESULTS: &str = "
select r.item, r.place, r.part from mazurka.result r
where r.search = $1 and r.generation = $2 and r.part is not null and ($3::bytea is null or r.place > $3)
    and not exists (
        select 1 from mazurka.item i where i.search = $1 and i.generation = $2 and i.state <> 3
            and i.place <= r.place)
order by r.place limit 64";

/// Whether results are there, which nobody else takes away then.
pub const HOLD_RESULTS: &str =
    "select item from mazurka.result where search = $1 and item = any($2) for update";

/// Makes one of several results.
pub const REPLACE_RESULTS: &str = "
with taken as (
    delete from mazurka.result where search = $1 and item = any($2)
    returning item, generation, place, share, executions, failures, milliseconds
)
insert into mazurka.result
    (item, search, generation, lease, worker, place, share, executions, failures, milliseconds, part)
select (array_agg(item order by place))[1], $1, max(generation), 0, 0, (array_agg(place order by place))[1],
    sum(share), sum(executions), sum(failures), sum(milliseconds), $3
from taken";

/// The item at which the search was to end does not end it: what came of it, and what it leaves.
pub const GO_ON_BEHIND: &str = "
with met as (
    delete from mazurka.item where search = $1 and generation = $2 and state = 4 and place = $3 returning id
), counted as (
    insert into mazurka.result
        (item, search, generation, lease, worker, place, share, executions, failures, milliseconds, part)
    select id, $1, $2, 0, 0, $3, $4, $5, $6, $7, $8 from met
), behind as (
    insert into mazurka.item (search, generation, place, position, state, share, body)
    select $1, $2, made.place, substr(made.place, 1, 256), 0, made.share, made.body
    from met, unnest($9::bytea[], $10::double precision[], $11::bytea[]) as made(place, share, body)
), over as (
    update mazurka.search set ends_at = (
        select place from mazurka.item where search = $1 and generation = $2 and state = 4 and place <> $3
        order by place limit 1)
    where id = $1 and exists (select 1 from met)
)
select count(*) from met";

/// Who waits has found something out: the search begins again, unless it has meanwhile.
pub const BEGIN_AGAIN_HERE: &str = "
with again as (
    update mazurka.search set generation = generation + 1, ends_at = null
    where id = $1 and generation = $2 and state in ('running', 'paused')
    returning id, generation
), noted as (
    insert into mazurka.found_out (search, generation, body) select id, generation, $3 from again
), first as (
    insert into mazurka.item (search, generation, place, position, share, body)
    select id, generation, ''::bytea, ''::bytea, 1.0, $4 from again
)
select count(*) from again";

/// The items that nobody could do, and the one that ends the search.
pub const LEFT: &str = "
select i.state, i.body
from mazurka.search s join mazurka.item i on i.search = s.id and i.generation = s.generation
where s.id = $1 and i.state in (3, 4)
order by i.place";

/// The place before which all of a search is done.
pub const DONE_UP_TO: &str = "
select place from mazurka.item where search = $1 and generation = $2 order by place limit 1";

/// Takes out what came of the items before a place, to put it together.
pub const TAKE_RESULTS: &str = "
delete from mazurka.result where search = $1 and generation = $2 and place < $3
returning item, lease, worker, place, share, executions, failures, milliseconds, part";

/// Puts in what came of several items together.
pub const PUT_RESULT: &str = "
insert into mazurka.result
    (item, search, generation, lease, worker, place, share, executions, failures, milliseconds, part)
values ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11)";

/// A worker is there, under this number, unless somebody else has it.
pub const JOIN: &str = "
insert into mazurka.worker (id, host, process, threads, version) values ($1, $2, $3, $4, $5)
on conflict do nothing";

/// A worker goes.
pub const LEAVE: &str = "delete from mazurka.worker where id = $1";

/// A worker is still there, also if the database has forgotten it.
pub const SEEN: &str = "
insert into mazurka.worker (id, host, process, threads, version, items, note, executions)
values ($1, $2, $3, $4, $5, $6, $7, $8)
on conflict (id) do update set seen = now(), items = excluded.items, note = excluded.note,
    executions = excluded.executions";

/// Searches that workers can work on.
pub const RUNNING: &str = "
select id, hash from mazurka.search where state = 'running' order by id";

/// Leases items of a search to a worker, the first ones first. The hash says that it is the search that was
/// meant. Written so that an index has them in order: there may be many thousands. And so that they are
/// looked for once: of a subquery behind `in` the server may ask again for each row, and each time get others, since
/// those that are locked are skipped.
pub const TAKE: &str = "
update mazurka.item set state = 1, lease = lease + 1, tries = tries + 1, worker = $2,
    until = now() + $3 * interval '1 second'
where id = any (array(
    select i.id from mazurka.item i
    where i.search = $1 and i.state = 0
        and i.generation = (
            select generation from mazurka.search where id = $1 and hash = $5 and state = 'running'
        )
        and ((select ends_at from mazurka.search where id = $1) is null
            or i.place < (select ends_at from mazurka.search where id = $1))
    order by i.position limit $4
    for update of i skip locked
))
returning id, generation, lease, tries, body";

/// How many items wait, up to a number, how many are held, and how many threads there are.
pub const LOAD: &str = "
select (select count(*) from (select 1 from mazurka.item i join mazurka.search s on s.id = i.search
        where s.state = 'running' and i.generation = s.generation and i.state = 0
            and (s.ends_at is null or i.place < s.ends_at) limit $1) few),
    (select count(*) from mazurka.item where state = 1),
    (select coalesce(sum(threads), 0) from mazurka.worker where seen > now() - interval '60 s')::bigint";

/// Makes leases longer; gives those that still are.
pub const BEAT: &str = "
update mazurka.item i set until = now() + $3 * interval '1 second'
from unnest($1::bigint[], $2::bigint[]) as mine(id, lease), mazurka.search s
where i.id = mine.id and i.lease = mine.lease and i.state = 1
    and s.id = i.search and s.generation = i.generation and s.state in ('running', 'paused')
    and (s.ends_at is null or i.place < s.ends_at)
returning i.id";

/// Gives back items that were leased to a worker without its having been told.
pub const GIVE_BACK: &str = "
update mazurka.item set state = 0, tries = tries - 1, worker = null
where worker = $1 and state = 1 and not id = any($2)";

/// Gives back one item, which counts as a try.
pub const FAIL: &str = "
update mazurka.item set state = case when tries >= $3 then 3 else 0 end, worker = null
where id = $1 and lease = $2 and state = 1";

/// Items whose leases have run out can be taken again, or are given up.
pub const REAP: &str = "
update mazurka.item set state = case when tries >= $1 then 3 else 0 end, worker = null
where state = 1 and until < now()";

/// An item is done: what came of it, and what it leaves. Nothing happens if the lease is no longer valid. Its
/// number would do for that, but for a database that was put back to an earlier time, which gives numbers
/// again: then worker and place are others.
pub const COMMIT: &str = "
with done as (
    delete from mazurka.item where id = $1 and lease = $2 and state = 1 and worker = $3 and place = $4
    returning search, generation
), counted as (
    insert into mazurka.result
        (item, search, generation, lease, worker, place, share, executions, failures, milliseconds, part)
    select $1, search, generation, $2, $3, $4, $5, $6, $7, $8, $9 from done
), behind as (
    insert into mazurka.item (search, generation, place, position, state, share, body)
    select done.search, done.generation, made.place, substr(made.place, 1, 256), made.state, made.share,
        made.body
    from done, unnest($10::bytea[], $11::smallint[], $12::double precision[], $13::bytea[])
        as made(place, state, share, body)
), over as (
    update mazurka.search s set ends_at = least(coalesce(s.ends_at, $14), $14)
    from done where s.id = done.search and s.generation = done.generation and $14::bytea is not null
)
select count(*) from done";

/// Whether an item was done under a lease.
pub const WAS_DONE: &str = "select 1 from mazurka.result where item = $1 and lease = $2";

/// Something was found out: the search begins again. Nothing happens if the lease is no longer valid, or if
/// the search has begun again meanwhile.
pub const BEGIN_AGAIN: &str = "
with void as (
    delete from mazurka.item where id = $1 and lease = $2 and state = 1 returning search, generation
), again as (
    update mazurka.search s set generation = s.generation + 1, ends_at = null
    from void where s.id = void.search and s.generation = void.generation
        and s.state in ('running', 'paused')
    returning s.id, s.generation
), noted as (
    insert into mazurka.found_out (search, generation, body) select id, generation, $3 from again
    on conflict do nothing
), first as (
    insert into mazurka.item (search, generation, place, position, share, body)
    select id, generation, ''::bytea, ''::bytea, 1.0, $4 from again
)
select count(*) from again";

/// All searches, for people.
pub const SEARCHES: &str = "
select s.id, s.hash, s.title, s.owner, s.state, s.generation,
    extract(epoch from coalesce(s.ended, now()) - s.begun)::double precision,
    (select count(*) from mazurka.item i where i.search = s.id and i.generation = s.generation and i.state = 0
        and (s.ends_at is null or i.place < s.ends_at)),
    (select count(*) from mazurka.item i where i.search = s.id and i.generation = s.generation and i.state = 1
        and (s.ends_at is null or i.place < s.ends_at)),
    (select count(*) from mazurka.item i where i.search = s.id and i.generation = s.generation
        and i.state = 3),
    r.executions, r.failures, r.share, r.milliseconds, r.recently, s.ends_at is not null
from mazurka.search s
cross join lateral (
    select coalesce(sum(executions), 0)::bigint as executions, coalesce(sum(failures), 0)::bigint as failures,
        coalesce(sum(share), 0.0) as share, coalesce(sum(milliseconds), 0)::bigint as milliseconds,
        coalesce(sum(executions) filter (where at > now() - interval '10 s' and lease > 0), 0)::bigint
            as recently
    from mazurka.result where search = s.id and generation = s.generation
) r
order by s.id desc limit $1";

/// The workers that were seen lately, for people.
pub const WORKERS: &str = "
select id, host, process, threads, version, items, note,
    extract(epoch from now() - joined)::double precision, extract(epoch from now() - seen)::double precision,
    (select count(*) from mazurka.item i where i.worker = w.id and i.state = 1), executions,
    coalesce(executions / nullif(extract(epoch from seen - joined), 0), 0)::double precision
from mazurka.worker w where seen > now() - interval '10 min' order by id";
