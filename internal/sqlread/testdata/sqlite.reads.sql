SELECT 1
select * from users
select id, name from users where active = 1 order by name limit 10;
select u.id, o.total from users u join orders o on o.user_id = u.id
select comment from orders
select "comment", [update], `delete` from notes
select count(*), max(id), avg(total) from orders
select name, count(*) from users group by name having count(*) > 1
select date('now'), datetime('now', '-7 days'), strftime('%Y-%m', created_at) from orders
select julianday('now') - julianday(created_at) from orders
select group_concat(name, ', '), group_concat(name, '; ') from users
select * from users where name like 'a%' and name glob 'a*'
select * from users where id in (1, 2) or id in (select user_id from orders)
select coalesce(name, 'x'), ifnull(name, 'x'), nullif(name, ''), iif(id > 1, 'a', 'b') from users
select case when total > 1 then 'a' else ('b') end from orders
select cast(id as text), typeof(id) from users
select json_extract(data, '$.a'), data ->> '$.a', data -> 'a' from notes
select j.key, j.value from notes n, json_each(n.data, '$.items') as j
select row_number() over (partition by user_id order by id) from orders
select sum(total) over (order by id rows between 1 preceding and current row) from orders
select sum(total) over w from orders window w as (order by id)
select count(*) filter (where total > 1) from orders
with a as (select 1 as x) select * from a
with recursive t(n) as (values (1) union all select n + 1 from t where n < 5) select sum(n) from t
with a(x, y) as not materialized (select 1, 2), b(z) as (select x from a) select * from a, b
values (1, 'a'), (2, 'b')
select * from (values (1), (2))
select 1 union select 2 union all select 3 except select 4 intersect select 5
select * from users u left join orders o using (id) where o.id is not null
select upper(name), lower(name), length(name), substr(name, 1, 2), replace(name, 'a', 'b'), trim(name), instr(name, 'a') from users
select name || '-' || id from users
select round(total, 2), abs(total), total % 2, total * 1.5 from orders
select exists (select 1 from users)
select not (1 = 2) and (3 > 2)
select distinct name from users order by name collate nocase desc nulls last limit 5 offset (1)
select sqlite_version(), random(), last_insert_rowid(), changes()
select name, sql from sqlite_master where type = 'table'
select * from pragma_table_info('users')
select 'it''s', "a""b", x'00ff', 1e5, 0x1f, .5, null from users
explain select * from users
explain query plan select * from users where id = 1
pragma table_info(users)
PRAGMA table_info('users');
pragma main.index_list(users)
pragma database_list
select * from users where id = ? and name = :name
select * from users -- all of them
/* all */ select * from users
select min(id, 1), max(id, 2) from users
select date(created_at) as day, sum(total) as "in" from orders group by day
