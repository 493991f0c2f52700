select load_file('/etc/passwd')
select `load_file`('/etc/passwd')
select "load_file"('/etc/passwd')
select LOAD_FILE ('/etc/passwd')
select load_file/**/('/etc/passwd')
select sleep(10)
select benchmark(1000000, md5('x'))
select get_lock('x', 1)
select release_all_locks()
select master_pos_wait('x', 1)
select sys_exec('id')
select http_get('https://evil.example')
select writes()
select db.writes()
select mysql.lower(1)
select last_insert_id(5)
select nextval(s)
select next value for s
select keyring_key_store('a', 'b', 'c')
select * from users into outfile '/tmp/x'
select * from users into dumpfile '/tmp/x'
select 1 into @a
select id into @a from users
table users into outfile '/tmp/x'
select * from users for update
select * from users for share
select * from users lock in share mode
select @a := 1
select @a := load_file('x')
select * from users where @a := 1
select /*! load_file('/etc/passwd') */
select /*!50000 1 into outfile '/tmp/x' */
select 1 /*!99999 into outfile '/tmp/x' */
select /*M! 1 */ 1
select /*T! 1 */ 1
select /*+ SET_VAR(sql_mode='') */ 1
select 'a\' into outfile \'/tmp/x\' -- '
select 'a\\'
select "a\" into outfile '/tmp/x' -- "
select 1 # comment
select 1--1
insert into users values (1)
replace into users values (1)
update users set name = 'x'
delete from users
drop table users
create table x (a int)
create table x select 1
alter table users add x int
truncate users
rename table users to x
grant all on *.* to x
set @a = 1
set global general_log = 1
do sleep(1)
call p()
load data infile '/etc/passwd' into table users
lock tables users write
unlock tables
flush tables
kill 1
shutdown
prepare p from 'drop table users'
execute p
begin
commit
use x
analyze table users
optimize table users
explain delete from users
explain analyze delete from users
with x as (select 1) delete from users
with x as (select 1) update users set name = 'x'
select 1; drop table users
select 1; select 2
select ';drop table users'
show create user root
select * from (select load_file('x')) t
select 1 from users order by load_file('x')
select 1 from users limit 1 procedure analyse()
select case when 1 then load_file('x') end
select ifnull(load_file('x'), 1)
select group_concat(load_file('x')) from users
select cast(load_file('x') as char)
select 1 in (load_file('x'))
select 1 between 0 and load_file('x')
select * from users join orders on load_file('x')
select * from users group by load_file('x')
with a as (select load_file('x')) select * from a
select 1 union select load_file('x')
show tables where load_file('x')
select * from users as of timestamp now()
select tidb_decode_key('x')
SELECT s.nextval
SELECT `s`.`NEXTVAL` FROM dual
SELECT s.currval
SELECT `縗`, ` INTO OUTFILE '/tmp/x' -- `
SELECT `縗`,(SELECT 1) AS ` , sleep(9), ` , `縗` 
