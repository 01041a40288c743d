import type { NewSchema } from '../records-file.ts'

/** Generated from the migrations by `npm run snapshot`, because running them takes a tenth of a daemon's first start. */
export const newSchema: NewSchema = {
  version: 22,
  statements: `
CREATE TABLE "warmup_runs" ("id" text not null primary key, "status" text not null, "sales_channel_id" text, "batch_size" integer not null, "force" integer not null, "total_urls" integer not null, "checked_urls" integer default 0 not null, "processed_urls" integer default 0 not null, "skipped_urls" integer default 0 not null, "failed_urls" integer default 0 not null, "urls_per_second" real default 0 not null, "message" text, "discovery" text not null, "created_at" bigint not null, "updated_at" bigint not null, "finished_at" bigint, "paused_at" bigint, "paused_for" bigint default 0 not null, "concurrency" integer);
CREATE TABLE "warmup_batches" ("run_id" text not null, "number" integer not null, "sales_channel_id" text not null, "urls" text not null, "size" integer not null, "taken" text default '' not null, "done" text default '' not null, "openings" integer default 0 not null, "finished_at" bigint, constraint "warmup_batches_key" primary key ("run_id", "number"));
CREATE INDEX "warmup_batches_open" on "warmup_batches" ("run_id", "number", "sales_channel_id") where "finished_at" is null;
CREATE TABLE "warmup_failures" ("id" text not null primary key, "run_id" text not null references "warmup_runs" ("id") on delete cascade, "url" text not null, "variant" integer not null, "status" integer, "error" text not null, "attempts" integer not null, "at" bigint not null);
CREATE INDEX "warmup_failures_url" on "warmup_failures" ("url");
CREATE INDEX "warmup_failures_of_run" on "warmup_failures" ("run_id", "id");
CREATE TABLE "queue_messages" ("id" text not null primary key, "transport" text not null, "type" text not null, "payload" text not null, "group" text, "key" text, "available_at" bigint not null, "delay" bigint default 0 not null, "attempts" integer default 0 not null, "crashes" integer default 0 not null, "lease" text, "worker" text, "taken_at" bigint, "created_at" bigint not null, "last_error" text, "failed_at" bigint, "origin" text);
CREATE INDEX "queue_messages_waiting" on "queue_messages" ("transport", "type", "group", "available_at", "id") where "lease" is null;
CREATE INDEX "queue_messages_held" on "queue_messages" ("group") where "lease" is not null;
CREATE INDEX "queue_messages_of_worker" on "queue_messages" ("worker") where "lease" is not null;
CREATE INDEX "queue_messages_due" on "queue_messages" ("available_at") where "lease" is null;
CREATE UNIQUE INDEX "queue_messages_key" on "queue_messages" ("key") where "key" is not null and "lease" is null and "failed_at" is null;
CREATE TABLE "queue_workers" ("id" text not null primary key, "host" text not null, "boot_id" text, "pid_namespace" text, "pid" integer not null, "process_started" text, "kind" text not null, "transports" text not null, "types" text not null, "started_at" bigint not null, "seen_at" bigint not null, "beat" bigint default 0 not null, "stopping" integer default 0 not null);
CREATE TABLE "invalidations" ("id" integer not null primary key autoincrement, "created_at" bigint not null, "source" text not null, "actor" text, "scope" text not null, "value" text, "soft" integer default 0 not null, "pages_removed" integer default 0 not null, "intent" text, "owner" text, "recorded" text, "trace" text, "traced" bigint default 0 not null, "unconfirmed" text);
CREATE INDEX "invalidations_created" on "invalidations" ("created_at");
CREATE INDEX "invalidations_intended" on "invalidations" ("id") where "intent" is not null;
CREATE INDEX "invalidations_tracing" on "invalidations" ("id") where "trace" is not null;
CREATE TABLE "purges" ("id" integer not null primary key autoincrement, "invalidation_id" bigint not null, "created_at" bigint not null, "source" text not null, "kind" text not null, "url_id" bigint, "tag_id" bigint, "entity_id" bigint, "value" text, "soft" integer default 0 not null, "pages_removed" integer default 0 not null, "response_time" real, "unconfirmed" text);
CREATE INDEX "purges_created" on "purges" ("created_at");
CREATE INDEX "purges_of_entity" on "purges" ("entity_id") where "entity_id" is not null;
CREATE TABLE "purge_deliveries" ("purge_id" bigint not null, "proxy" text not null, "status" text not null, "attempts" integer default 0 not null, "response_time" real, "error" text, "created_at" bigint, "kind" text, "key" text, "soft" integer default 0 not null, constraint "purge_deliveries_key" primary key ("purge_id", "proxy")) without rowid;
CREATE INDEX "purge_deliveries_pending" on "purge_deliveries" ("proxy", "purge_id") where "status" = 'pending';
CREATE INDEX "purge_deliveries_failed" on "purge_deliveries" ("proxy", "purge_id") where "status" = 'failed';
CREATE TABLE "purge_urls" ("id" integer not null primary key, "url" text not null unique, "purges" integer default 0 not null, "last_purged_at" bigint default 0 not null);
CREATE INDEX "purge_urls_last" on "purge_urls" ("last_purged_at");
CREATE TABLE "purge_pages" ("url_id" bigint not null, "purge_id" bigint not null, constraint "purge_pages_key" primary key ("url_id", "purge_id")) without rowid;
CREATE INDEX "purge_pages_of_purge" on "purge_pages" ("purge_id");
CREATE TABLE "purge_tags" ("id" integer not null primary key, "tag" text not null unique, "purges" integer default 0 not null, "last_hour" integer default -1 not null, "window_count" integer default 0 not null);
CREATE INDEX "purge_tags_top" on "purge_tags" ("last_hour", "window_count");
CREATE TABLE "purge_tag_hours" ("tag_id" bigint not null, "hour" integer not null, "purges" integer not null, constraint "purge_tag_hours_key" primary key ("tag_id", "hour")) without rowid;
CREATE TABLE "purge_entities" ("id" integer not null primary key, "type" text not null, "entity_id" text not null, "number" text, "purges" integer default 0 not null, constraint "purge_entities_key" unique ("type", "entity_id"));
CREATE INDEX "purge_entities_number" on "purge_entities" ("type", "number") where "number" is not null;
CREATE TABLE "purge_hours" ("hour" integer not null primary key, "purges" integer default 0 not null, "invalidations" integer default 0 not null, "responses" integer default 0 not null, "response_time" real default 0 not null);
CREATE TABLE "purge_key_hours" ("kind" text not null, "hour" integer not null, "keys" integer not null, constraint "purge_key_hours_key" primary key ("kind", "hour")) without rowid;
CREATE TABLE "scheduled_tasks" ("name" text not null primary key, "run_interval" bigint not null, "status" text not null, "last_execution_at" bigint, "next_execution_at" bigint not null, "result" text, "error" text, "updated_at" bigint not null);
CREATE TABLE "api_clients" ("id" text not null primary key, "name" text not null, "scopes" text not null, "secret_hash" text not null, "created_at" bigint not null, "last_used_at" bigint, "revoked_at" bigint, "created_by" text, "revoked_by" text);
CREATE TABLE "sales_channel" ("id" text not null primary key, "name" text not null, "url" text not null);
CREATE TABLE "vendor_stage" ("id" text not null primary key, "name" text not null, "stats_enabled" integer not null, "retention_days" integer not null, "max_per_session" integer, "frequency" text not null, "sales_channel_id" text references "sales_channel" ("id"), "active" integer not null, "page_types" text not null, "content" text not null, "created_at" bigint not null, "updated_at" bigint not null, "deleted" text, "starts_at" bigint, "ends_at" bigint, "look" text, "opens" text);
CREATE TABLE "vendor_stage_event" ("id" text not null primary key, "popup_id" text not null references "vendor_stage" ("id"), "event_type" text not null check (event_type in ('impression', 'cta_click', 'close', 'permanent_dismiss')), "sales_channel_id" text not null references "sales_channel" ("id"), "customer_id" text, "page_type" text, "request_url" text, "created_at" bigint not null) without rowid;
CREATE INDEX "vendor_stage_event_age" on "vendor_stage_event" ("popup_id", "created_at");
CREATE INDEX "vendor_stage_event_customer" on "vendor_stage_event" ("customer_id") where "customer_id" is not null;
CREATE TRIGGER vendor_stage_event_append_only before update on vendor_stage_event
      when not (new.customer_id is null and old.customer_id is not null
        and new.id is old.id and new.popup_id is old.popup_id and new.event_type is old.event_type
        and new.sales_channel_id is old.sales_channel_id and new.page_type is old.page_type
        and new.request_url is old.request_url and new.created_at is old.created_at)
      begin select raise(abort, 'an event is never changed; only its customer may be forgotten'); end;
CREATE TABLE "vendor_stage_rollup" ("popup_id" text not null references "vendor_stage" ("id") on delete cascade, "hour" integer not null, "impression" integer not null, "cta_click" integer not null, "close" integer not null, "permanent_dismiss" integer not null, constraint "vendor_stage_rollup_key" primary key ("popup_id", "hour")) without rowid;
CREATE TABLE "vendor_stage_session" ("expires_at" bigint not null, "session" text not null, "popup_id" text not null, "shows" integer not null, constraint "vendor_stage_session_key" primary key ("expires_at", "session", "popup_id")) without rowid;
CREATE TABLE "warmup_live" ("run_id" text not null references "warmup_runs" ("id") on delete cascade, "worker" text not null, "snapshot" text not null, "at" bigint not null, constraint "warmup_live_key" primary key ("run_id", "worker"));
CREATE TABLE "warmup_origins" ("origin" text not null primary key, "not_before" bigint not null, "concurrency" real not null, "at" bigint not null);
CREATE TABLE "warmup_purged" ("run_id" text not null primary key, "until" bigint not null);
CREATE TABLE "reverse_proxy_states" ("name" text not null primary key, "failures" integer not null, "failing_since" bigint, "open_until" bigint, "last_error" text, "last_failure_at" bigint, "last_delivery_at" bigint);
CREATE INDEX "api_clients_by_maker" on "api_clients" ("created_by");
CREATE INDEX "api_clients_by_time" on "api_clients" ("created_at", "id");
CREATE TRIGGER vendor_stage_event_insert_only before insert on vendor_stage_event
      when exists (select 1 from vendor_stage_event where id = new.id)
      begin select raise(abort, 'an event is never changed; only its customer may be forgotten'); end;
CREATE TABLE "traffic_minutes" ("start" integer not null, "channel_id" text not null, "type" text not null, "result" text not null, "requests" bigint not null, "status_1xx" bigint not null, "status_2xx" bigint not null, "status_3xx" bigint not null, "status_4xx" bigint not null, "status_5xx" bigint not null, "bytes" bigint not null, "origin_us" bigint not null, "served_us" bigint not null, "b0" bigint not null, "b1" bigint not null, "b2" bigint not null, "b3" bigint not null, "b4" bigint not null, "b5" bigint not null, "b6" bigint not null, "b7" bigint not null, "b8" bigint not null, "b9" bigint not null, "b10" bigint not null, "b11" bigint not null, "b12" bigint not null, "b13" bigint not null, "b14" bigint not null, constraint "traffic_minutes_key" primary key ("start", "channel_id", "type", "result")) without rowid;
CREATE TABLE "traffic_hours" ("start" integer not null, "channel_id" text not null, "type" text not null, "result" text not null, "requests" bigint not null, "status_1xx" bigint not null, "status_2xx" bigint not null, "status_3xx" bigint not null, "status_4xx" bigint not null, "status_5xx" bigint not null, "bytes" bigint not null, "origin_us" bigint not null, "served_us" bigint not null, "b0" bigint not null, "b1" bigint not null, "b2" bigint not null, "b3" bigint not null, "b4" bigint not null, "b5" bigint not null, "b6" bigint not null, "b7" bigint not null, "b8" bigint not null, "b9" bigint not null, "b10" bigint not null, "b11" bigint not null, "b12" bigint not null, "b13" bigint not null, "b14" bigint not null, constraint "traffic_hours_key" primary key ("start", "channel_id", "type", "result")) without rowid;
CREATE TABLE "traffic_misses" ("hour" integer not null, "channel_id" text not null, "path" text not null, "reason" text not null, "requests" bigint not null, "origin_us" bigint not null, constraint "traffic_misses_key" primary key ("hour", "channel_id", "path", "reason")) without rowid;
CREATE TABLE "admin_sessions" ("id" text not null primary key, "client_id" text not null, "scopes" text not null, "kid" text not null, "created_at" bigint not null, "expires_at" bigint not null);
CREATE TABLE "notified_problems" ("event" text not null, "subject" text not null, "occurrence" text not null, "title" text not null, "since" bigint not null, constraint "notified_problems_key" primary key ("event", "subject")) without rowid;
CREATE TABLE "signing_keys" ("number" bigint not null primary key, "content" text not null);
CREATE TABLE "cluster_secrets" ("name" text not null primary key, "value" text not null) without rowid;
CREATE VIEW cluster_server as select 'sqlite' as identity, cast(unixepoch('subsec') * 1000 as integer) as now;
CREATE TABLE "cluster_clock" ("id" bigint not null primary key, "number" bigint not null, "floor" bigint not null, "history" text not null, "settled" text not null);
CREATE TABLE "cluster_purges" ("number" bigint not null primary key, "at" bigint not null, "store" text not null, "invalidation_id" bigint, "removals" text not null);
CREATE INDEX "cluster_purges_of_invalidation" on "cluster_purges" ("invalidation_id");
CREATE TABLE "cluster_members" ("id" text not null primary key, "node" text not null, "store" text not null, "version" text not null, "state" text not null, "position" bigint not null, "renewal" bigint not null, "lease" bigint not null, "alone" bigint not null, "since" bigint not null, "seen_at" bigint not null, "marked_at" bigint not null, "address" text, "process" text, "replaced" bigint default 0 not null, "answered" bigint default 0 not null, "statistics" text);
CREATE TABLE "cluster_questions" ("id" bigint not null primary key, "number" bigint not null);
CREATE TABLE "cluster_removed" ("number" bigint not null, "member" text not null, "node" text not null, "counts" text not null, constraint "cluster_removed_key" primary key ("number", "member"))`,
}
