alter table state add column seal BYTES not null default '';
