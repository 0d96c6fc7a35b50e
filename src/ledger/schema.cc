#include "ledger/schema.h"

namespace interlude::internal {

const char kRunDatabaseSchema[] = R"sql(
CREATE TABLE meta (
  key   TEXT NOT NULL PRIMARY KEY,
  value TEXT NOT NULL
) STRICT, WITHOUT ROWID;

CREATE TABLE phases (
  phase      TEXT NOT NULL PRIMARY KEY,
  number     INTEGER NOT NULL UNIQUE,
  side       TEXT NOT NULL CHECK (side IN ('worker', 'coordinator')),
  sort_order INTEGER NOT NULL,
  meaning    TEXT NOT NULL
) STRICT, WITHOUT ROWID;

CREATE TABLE workers (
  worker        INTEGER NOT NULL PRIMARY KEY,
  host          TEXT NOT NULL,
  process_id    INTEGER NOT NULL,
  visible_cores INTEGER NOT NULL,
  quota_cores   REAL,
  usable_cores  INTEGER NOT NULL,
  threads       INTEGER NOT NULL,
  software      TEXT NOT NULL,
  joined_ns     INTEGER NOT NULL,
  left_ns       INTEGER,
  left_reason   TEXT NOT NULL
) STRICT;

-- What a worker said of its data when it joined. Where one data set is split among all, worker is -1
-- and the counts are the set's.
CREATE TABLE class_counts (
  worker         INTEGER NOT NULL,
  label          INTEGER NOT NULL,
  train_pictures INTEGER NOT NULL,
  test_pictures  INTEGER NOT NULL,
  PRIMARY KEY (worker, label)
) STRICT, WITHOUT ROWID;

CREATE TABLE rounds (
  round          INTEGER NOT NULL PRIMARY KEY,
  begin_ns       INTEGER NOT NULL,
  end_ns         INTEGER NOT NULL,
  committed_ns   INTEGER NOT NULL,
  first_delta_ns INTEGER NOT NULL,
  last_delta_ns  INTEGER NOT NULL,
  first_sync_ns  INTEGER NOT NULL,
  root_hash      TEXT NOT NULL,
  workers        INTEGER NOT NULL,
  samples        INTEGER NOT NULL,
  mean_loss      REAL
) STRICT;

CREATE TABLE worker_rounds (
  round           INTEGER NOT NULL,
  worker          INTEGER NOT NULL,
  samples         INTEGER NOT NULL,
  mean_loss       REAL,
  root_hash       TEXT NOT NULL,
  repaired_chunks INTEGER NOT NULL,
  upload_bytes    INTEGER NOT NULL,
  download_bytes  INTEGER NOT NULL,
  scaled_chunks   INTEGER NOT NULL,
  cut_share       REAL NOT NULL,
  PRIMARY KEY (round, worker)
) STRICT, WITHOUT ROWID;

CREATE TABLE spans (
  id           INTEGER NOT NULL PRIMARY KEY,
  round        INTEGER NOT NULL,
  phase        TEXT NOT NULL,
  recorded_by  INTEGER NOT NULL,
  about_worker INTEGER NOT NULL,
  begin_ns     INTEGER NOT NULL,
  end_ns       INTEGER NOT NULL,
  busy_ns      INTEGER NOT NULL,
  cpu_ns       INTEGER NOT NULL,
  run_delay_ns INTEGER NOT NULL,
  blocked_ns   INTEGER NOT NULL,
  bytes        INTEGER NOT NULL,
  chunks       INTEGER NOT NULL,
  ok           INTEGER NOT NULL
) STRICT;
CREATE INDEX spans_by_round ON spans (round);

CREATE TABLE chunk_stamps (
  id           INTEGER NOT NULL PRIMARY KEY,
  round        INTEGER NOT NULL,
  phase        TEXT NOT NULL,
  recorded_by  INTEGER NOT NULL,
  about_worker INTEGER NOT NULL,
  stamps       BLOB NOT NULL
) STRICT;
CREATE INDEX chunk_stamps_by_round ON chunk_stamps (round);

-- What the view process_samples shows. Three bytes a figure where nanoseconds and bytes take six:
-- times in microseconds, resident memory in KiB. A column for each of kSampleFields, in its order.
CREATE TABLE sample_rows (
  id                      INTEGER NOT NULL PRIMARY KEY,
  recorded_by             INTEGER NOT NULL,
  at_us                   INTEGER NOT NULL,
  interval_us             INTEGER,
  cpu_us                  INTEGER,
  run_delay_us            INTEGER,
  threads                 INTEGER,
  major_faults            INTEGER,
  minor_faults            INTEGER,
  rss_kib                 INTEGER,
  anonymous_kib           INTEGER,
  peak_rss_kib            INTEGER,
  disk_read_bytes         INTEGER,
  disk_write_bytes        INTEGER,
  throttled_us            INTEGER,
  throttled_periods       INTEGER,
  cgroup_cpu_full_us      INTEGER,
  machine_busy_us         INTEGER,
  steal_us                INTEGER,
  cpu_some_us             INTEGER,
  memory_some_us          INTEGER,
  io_some_us              INTEGER,
  disk_busy_us            INTEGER,
  net_sent_bytes          INTEGER,
  net_received_bytes      INTEGER,
  tcp_sent_bytes          INTEGER,
  tcp_retransmitted_bytes INTEGER,
  tcp_busy_us             INTEGER,
  tcp_receiver_limited_us INTEGER,
  tcp_sender_limited_us   INTEGER,
  tcp_round_trip_us       INTEGER
) STRICT;

CREATE VIEW process_samples AS
SELECT id, recorded_by, at_us * 1000 AS at_ns,
       interval_us * 1000 AS interval_ns,
       cpu_us * 1000 AS cpu_ns,
       run_delay_us * 1000 AS run_delay_ns,
       threads,
       major_faults,
       minor_faults,
       rss_kib * 1024 AS rss_bytes,
       anonymous_kib * 1024 AS anonymous_bytes,
       peak_rss_kib * 1024 AS peak_rss_bytes,
       disk_read_bytes,
       disk_write_bytes,
       throttled_us * 1000 AS throttled_ns,
       throttled_periods,
       cgroup_cpu_full_us * 1000 AS cgroup_cpu_full_ns,
       machine_busy_us * 1000 AS machine_busy_ns,
       steal_us * 1000 AS steal_ns,
       cpu_some_us * 1000 AS cpu_some_ns,
       memory_some_us * 1000 AS memory_some_ns,
       io_some_us * 1000 AS io_some_ns,
       disk_busy_us * 1000 AS disk_busy_ns,
       net_sent_bytes,
       net_received_bytes,
       tcp_sent_bytes,
       tcp_retransmitted_bytes,
       tcp_busy_us * 1000 AS tcp_busy_ns,
       tcp_receiver_limited_us * 1000 AS tcp_receiver_limited_ns,
       tcp_sender_limited_us * 1000 AS tcp_sender_limited_ns,
       tcp_round_trip_us * 1000 AS tcp_round_trip_ns
FROM sample_rows;

CREATE TABLE memory (
  id          INTEGER NOT NULL PRIMARY KEY,
  recorded_by INTEGER NOT NULL,
  at_ns       INTEGER NOT NULL,
  owner       TEXT NOT NULL,
  bytes       INTEGER NOT NULL
) STRICT;

CREATE TABLE clock_probes (
  id     INTEGER NOT NULL PRIMARY KEY,
  worker INTEGER NOT NULL,
  probes BLOB NOT NULL
) STRICT;

CREATE TABLE clocks (
  id        INTEGER NOT NULL PRIMARY KEY,
  worker    INTEGER NOT NULL,
  round     INTEGER,
  method    TEXT NOT NULL CHECK (method IN ('none', 'minimum', 'envelope')),
  at_ns     INTEGER NOT NULL,
  offset_ns INTEGER NOT NULL,
  drift     REAL NOT NULL,
  error_ns  INTEGER NOT NULL,
  probes    INTEGER NOT NULL
) STRICT;
-- One a worker and round; NULLs would all be different.
CREATE UNIQUE INDEX clocks_by_worker ON clocks (worker, ifnull(round, -1));

CREATE TABLE evaluations (
  after_rounds INTEGER NOT NULL PRIMARY KEY,
  samples      INTEGER NOT NULL,
  correct      INTEGER NOT NULL,
  mean_loss    REAL
) STRICT;

-- What is known of an evaluation besides, where the worker's trainer told it.
CREATE TABLE evaluation_details (
  after_rounds INTEGER NOT NULL PRIMARY KEY,
  classes      INTEGER NOT NULL,
  top5         INTEGER NOT NULL
) STRICT;

CREATE TABLE confusion (
  after_rounds INTEGER NOT NULL,
  label        INTEGER NOT NULL,
  predicted    INTEGER NOT NULL,
  count        INTEGER NOT NULL,
  PRIMARY KEY (after_rounds, label, predicted)
) STRICT, WITHOUT ROWID;

CREATE TABLE events (
  id     INTEGER NOT NULL PRIMARY KEY,
  at_ns  INTEGER NOT NULL,
  round  INTEGER,
  worker INTEGER NOT NULL,
  kind   TEXT NOT NULL,
  text   TEXT NOT NULL
) STRICT;

-- total() and CAST saturate where sum() would stop with an overflow.
CREATE VIEW phase_seconds AS
WITH per_process AS (
  SELECT round, phase, recorded_by, about_worker,
         total(end_ns - begin_ns) / 1e9 AS inside_s,
         total(busy_ns) / 1e9 AS busy_s,
         total(cpu_ns) / 1e9 AS cpu_s,
         total(run_delay_ns) / 1e9 AS run_delay_s,
         total(blocked_ns) / 1e9 AS blocked_s,
         total(bytes) AS bytes,
         total(ok = 0) AS failed
  FROM spans GROUP BY round, phase, recorded_by, about_worker)
SELECT round, phase, side,
       count(*) AS processes,
       min(inside_s) AS min_s,
       avg(inside_s) AS avg_s,
       max(inside_s) AS max_s,
       max(busy_s) AS max_busy_s,
       max(cpu_s) AS max_cpu_s,
       max(run_delay_s) AS max_run_delay_s,
       max(blocked_s) AS max_blocked_s,
       CAST(total(bytes) AS INTEGER) AS bytes,
       CAST(total(failed) AS INTEGER) AS failed
FROM per_process JOIN phases USING (phase)
GROUP BY round, phase
ORDER BY round, sort_order;

CREATE VIEW round_summary AS
WITH numbered AS (
  SELECT *, (end_ns - begin_ns) / 1e9 AS wall_s, row_number() OVER (ORDER BY round) AS rounds_done
  FROM rounds),
parts AS (
  SELECT w.round,
         CAST(total(upload_bytes) AS INTEGER) AS upload_bytes,
         CAST(total(download_bytes) AS INTEGER) AS download_bytes,
         CAST(total(repaired_chunks) AS INTEGER) AS repaired_chunks,
         min(w.root_hash = r.root_hash) AS hashes_agree
  FROM worker_rounds w JOIN rounds r USING (round) GROUP BY w.round),
per_worker AS (
  SELECT round, recorded_by,
         total(end_ns - begin_ns) / 1e9 AS train_s,
         max(CASE WHEN end_ns >= begin_ns THEN end_ns END) AS trained_ns
  FROM spans WHERE phase = 'train' GROUP BY round, recorded_by),
training AS (SELECT round, max(train_s) AS train_s FROM per_worker GROUP BY round),
exchange_per_worker AS (
  SELECT s.round, (max(s.end_ns) - t.trained_ns) / 1e9 AS exchange_s
  FROM per_worker t JOIN spans s USING (round, recorded_by)
  WHERE s.phase IN ('encode', 'upload', 'wait', 'download', 'apply', 'verify')
    AND s.end_ns >= s.begin_ns AND s.end_ns >= t.trained_ns
  GROUP BY s.round, s.recorded_by
  HAVING min(s.ok) = 1 AND max(s.phase = 'verify') = 1),
exchange AS (SELECT round, min(exchange_s) AS exchange_s FROM exchange_per_worker GROUP BY round)
SELECT n.round, n.wall_s,
       t.train_s AS slowest_train_s,
       x.exchange_s,
       min(1.0, t.train_s / n.wall_s) AS slowest_train_share,
       n.workers, n.samples, n.mean_loss,
       p.upload_bytes, p.download_bytes, p.repaired_chunks, p.hashes_agree,
       CAST(e.correct AS REAL) / e.samples AS accuracy
FROM numbered n
LEFT JOIN parts p USING (round)
LEFT JOIN training t USING (round)
LEFT JOIN exchange x USING (round)
LEFT JOIN evaluations e ON e.after_rounds = n.rounds_done
ORDER BY n.round;
)sql";

}  // namespace interlude::internal
