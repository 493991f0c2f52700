SELECT 1
select * from users
select id, name from users where active = 1 order by name limit 10;
select u.id, o.total from users u join orders o on o.user_id = u.id
select comment from orders
select `comment`, `update` from notes
select count(*), count(distinct name), max(id), avg(total) from orders
select name, count(*) from users group by name with rollup having count(*) > 1
select date_format(created_at, '%Y-%m'), year(created_at), month(created_at) from orders
select * from orders where created_at > now() - interval 7 day
select date_sub(now(), interval 1 month), date_add(curdate(), interval 1 day)
select datediff(now(), created_at), timestampdiff(day, created_at, now()) from orders
select group_concat(name order by name separator ', ') from users
select * from users where name like 'a%' and name regexp '^a'
select * from users where id in (1, 2) or id in (select user_id from orders)
select * from users where id between 1 and 2
select coalesce(name, 'x'), ifnull(name, 'x'), nullif(name, ''), if(id > 1, 'a', 'b') from users
select case when total > 1 then 'a' else 'b' end from orders
select cast(id as char), convert(id, signed), cast('2026-01-01' as date) from users
select data->'$.a', data->>'$.a', json_extract(data, '$.a') from notes
select json_object('a', 1), json_arrayagg(name), json_contains(data, '1') from notes
select row_number() over (partition by user_id order by id) from orders
select sum(total) over (order by id rows between 1 preceding and current row) from orders
select sum(total) over w from orders window w as (order by id)
with a as (select 1 as x) select * from a
with recursive t(n) as (select 1 union all select n + 1 from t where n < 5) select sum(n) from t
select 1 union select 2 union all select 3
(select 1) union (select 2) order by 1
table users
select * from users u left join orders o using (id) where o.id is not null
select upper(name), lower(name), length(name), substring(name, 1, 2), replace(name, 'a', 'b'), trim(both ' ' from name), locate('a', name) from users
select concat(name, '-', id), concat_ws(',', name, id), left(name, 1), right(name, 1) from users
select round(total, 2), abs(total), total % 2, total div 2, floor(total), rand() from orders
select exists (select 1 from users)
select not (1 = 2) and (3 > 2) or 1 <=> null
select distinct name from users order by name desc limit 5 offset 1
select database(), user(), version(), current_user(), connection_id()
select @@version, @@global.max_connections
select column_name from information_schema.columns where table_name = 'users' and table_schema = database()
show tables
show databases
show columns from users
show full columns from users
show create table users
show index from users
show variables like 'max%'
show status
show processlist
show grants
describe users
desc users
explain select * from users
explain format='json' select * from users
explain analyze select * from users
select * from users where id = ?
select 'it''s', "double", x'00ff', 1e5, 0x1f, null, true
select * from users -- all of them
/* all */ select * from users
select md5(name), sha2(name, 256), hex(name), uuid() from users
select unix_timestamp(), from_unixtime(0), str_to_date('2026', '%Y')
select extract(year from created_at), last_day(created_at), dayname(created_at) from orders
select position('a' in name), format(total, 2) from users
select * from users force index (i) where id = 1
select * from users where (id, name) in ((1, 'a'))
select stddev(total), variance(total), bit_or(id) from orders
SELECT `größe`, name AS `Straße der Läden` FROM `aufträge`
