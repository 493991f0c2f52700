SELECT "writefile"('/tmp/x','evil')
SELECT [writefile]('/tmp/x','evil')
select `writefile`('/tmp/x','evil')
select 'writefile'('/tmp/x','evil')
select writefile /* x */ ('/tmp/x','evil')
select "write""file"('/tmp/x')
select readfile('/etc/hostname')
select load_extension('x')
select edit('x', 'touch /tmp/x')
select fts3_tokenizer('x', 'y')
select unknown(1)
select main.lower('x')
select * from fsdir('/')
select name, data from fsdir where path = '/etc'
select * from main.fsdir where path = '/etc'
select * from "fsdir" where path = '/etc'
select * from 'fsdir' where path = '/etc'
select * from zipfile('/tmp/x')
select * from http_get where url = 'https://evil.example'
select * from pragma_journal_mode
select * from unknown_table(1)
with writefile(a) as (select 1), b(x) as (select writefile('/tmp/x', 'y')) select * from b
insert into users values (1)
replace into users values (1)
update users set name = 'x'
delete from users
drop table users
create table x (a)
create trigger t after insert on users begin delete from orders; end
alter table users add x
attach '/tmp/x' as x
vacuum into '/tmp/x'
vacuum
reindex
analyze
begin
commit
savepoint x
pragma journal_mode = off
pragma journal_mode(off)
pragma writable_schema = 1
pragma user_version = 1
pragma optimize
pragma wal_checkpoint
pragma table_info(users); drop table users
pragma table_info(users) drop
explain insert into users values (1)
explain pragma journal_mode = off
with x as (select 1) insert into users select * from x
with x as (select 1) delete from users
with x as (select 1) update users set name = 'x'
select 1; drop table users
select 1; select 2
select ';drop table users'
select /*! 1 */ 1
select 1 /* x
select /* a /* b */ 1
select 'a
select [a
.shell touch /tmp/x
select 1 #
select $a::b(writefile('/tmp/x','y'))
select * from users for update
select 1 into x
values (writefile('/tmp/x', 'y'))
select * from users order by writefile('/tmp/x', 'y')
select * from users limit writefile('/tmp/x', 'y')
select case writefile('/tmp/x', 'y') when 1 then 2 end
select cast(writefile('/tmp/x', 'y') as text)
select json_extract(readfile('/etc/hostname'), '$')
SELECT * FROM fileio_scan WHERE path='/etc/passwd'
SELECT * FROM lsdir WHERE path='/'
