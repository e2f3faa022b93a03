/** What the board's API answers, and how it is asked. */

export type State = "fresh" | "stale" | "missing" | "failed" | "staged" | "running";
export type Status = "open" | "closed" | "locked";

export type Project = {
  project: string;
  level: string;
  dag_id: string;
  tags: string[];
  may_edit: boolean;
  is_paused: boolean;
  is_partitioned: boolean;
  needs_approval: boolean;
  /** Whether Airflow can backfill the DAG: it runs by periods, not when data arrive. */
  backfills: boolean;
  cells: Record<string, Cell>;
};
export type Period = { period: string; start_date: string; end_date: string; status: Status; who: string; reason: string };
export type CheckCounts = { passed: number; failed: number; warned: number; overridden: number };
export type Cell = {
  state: State;
  late_since: string | null;
  checks: CheckCounts | null;
  approval: string | null;
  published_at: string | null;
  reasons: string[];
};
export type Board = {
  projects: Project[];
  /** The periods of the finest level: the columns. */
  periods: Period[];
  /** Periods of coarser levels, each of which spans some columns. */
  spans: Record<string, Period[]>;
  /** DAGs that run projects of which nothing can be told, and why. */
  unreadable: { dag_id: string; project: string; reason: string }[];
  choices: { calendars: { calendar: string; level: string }[]; years: string[]; tags: string[] };
  shown: { calendar: string; level: string; year: string; column_level: string };
};

/** The periods of a project's level. */
export const listPeriods = (board: Board, project: Project): Period[] =>
  project.level === board.shown.column_level ? board.periods : (board.spans[project.level] ?? []);

export type Reason = { kind: string; detail: string; columns: string[] };
export type Check = {
  name: string;
  output: number;
  kind: string;
  on_fail: string;
  status: string;
  rows: number | null;
  failing_rows: number | null;
  failing_rows_uri: string | null;
  groups: { key: Record<string, string | null>; value: string | null; expected: string | null; difference: string | null; status: string }[] | null;
  value: string | null;
  expected: string | null;
  difference: string | null;
  message: string | null;
};
export type Comparison = {
  outputs: {
    seq: number;
    destination: string;
    rows_before: number;
    rows_after: number;
    added: number;
    removed: number;
    changed: number;
    columns: { name: string; changed: number; total_before: string | null; total_after: string | null; difference: string | null }[];
  }[];
};
export type Run = {
  run_id: string;
  status: string;
  who: string | null;
  started_at: string;
  finished_at: string | null;
  published_at: string | null;
  snapshot_sha256: string;
  error: { code: string; message: string; hint: string | null } | null;
};
export type Output = { seq: number; destination: string; rows: number; registered_dataset: string | null; registered_version: number | null; table_version?: string | number | null; totals: Record<string, string | null> | null };
export type Decision = { decision: string; who: string; preparer: string | null; at: string; comment: string | null };
export type Waiting = {
  run_id: string;
  preparer: string | null;
  needs_approval: boolean;
  approvers: string[];
  kept_until: string | null;
  decision: Decision | null;
};
export type RunLinks = { dag_run: string | null; log: string | null; snapshot: string | null; report: string | null };
export type Evidence = {
  project: string;
  project_version: number | null;
  calendar: string;
  dag_id: string;
  period: string;
  state: State;
  status: Status;
  reasons: Reason[];
  run: Run | null;
  latest: { run: Run; outputs: Output[]; checks: Check[]; comparison: Comparison | null } | null;
  waiting: Waiting | null;
  /** The table version is the snapshot of an Iceberg table, or the version of a Delta table. */
  pins: { used_by: string; dataset: string; version: number; table_version: string | number | null; resolver: string }[];
  operations: {
    seq: number;
    type: string;
    name: string;
    rows_affected: number | null;
    rows_after: number | null;
    seconds: number | null;
    joins: { alias: string; matched: number; unmatched: number }[] | null;
  }[];
  sources: { table: string; version: number; files: number | null; bytes: number | null; fingerprint: string | null }[];
  as_of: string | null;
  overrides: { check: string; who: string; at: string; reason: string }[];
  deadline: { due: string; is_late: boolean } | null;
  outputs: Output[];
  checks: Check[];
  permissions: { check: string; who: string; reason: string; at: string }[];
  comparison: Comparison | null;
  approval: Decision | null;
  history: { run_id: string; published_at: string; rows: number | null; who: string | null; project_version: number | null; outputs: Pick<Output, "seq" | "totals">[] }[];
  status_history: { status: Status; who: string; reason: string; at: string }[];
  /** Unknown where other projects could not be looked at. */
  downstream: { project: string; period: string; state: State }[] | null;
  links: RunLinks & { file: string; latest: RunLinks };
  /** Of the tab of a DAG run: how it stands, and which of its tasks failed. */
  airflow?: { state: string; failed: { task_id: string; log: string }[] };
  /** Of the tab of a DAG run: all that the DAG runs. */
  projects?: string[];
  may_edit: boolean;
  is_paused: boolean;
  is_partitioned: boolean;
  needs_approval: boolean;
};

/** Whether what is known of a period will change without anybody doing anything. */
export const isAtWork = (shown: Evidence) => shown.state === "running" || shown.airflow?.state === "running" || shown.airflow?.state === "queued";

export class Refused extends Error {}

const base = () => new URL("runtime-board/", document.baseURI);

const ask = async <T>(path: string, init?: RequestInit): Promise<T> => {
  const response = await fetch(new URL(path, base()), { credentials: "same-origin", ...init });
  if (response.ok) return (await response.json()) as T;
  throw new Refused(await readDetail(response));
};

const readDetail = async (response: Response): Promise<string> => {
  const body: unknown = await response.json().catch(() => null);
  const detail = body !== null && typeof body === "object" && "detail" in body ? body.detail : response.statusText;
  return typeof detail === "string" ? detail : JSON.stringify(detail);
};

export type Done = { message: string };

const act = <T>(path: string, body: object): Promise<T> =>
  ask<T>(path, { method: "POST", headers: { "Content-Type": "application/json" }, body: JSON.stringify(body) });

const part = (text: string) => encodeURIComponent(text);

/** A DAG's project and a period of it. */
export type Place = { dagId: string; project: string | null; period: string };
const at = ({ dagId, project, period }: Place, rest = "") =>
  `api/dags/${part(dagId)}/periods/${part(period)}${rest}${project === null ? "" : `?project=${part(project)}`}`;

export type Filter = { calendar?: string; level?: string; year?: string; tag?: string };

const query = (filter: Filter) => {
  const entries = Object.entries(filter).filter(([, value]) => value !== undefined && value !== "");
  return entries.length ? `?${new URLSearchParams(entries as [string, string][]).toString()}` : "";
};

export const getBoard = (dagId: string | undefined, filter: Filter) =>
  ask<Board>((dagId === undefined ? "api/board" : `api/dags/${part(dagId)}/board`) + query(filter));
export const getEvidence = (place: Place) => ask<Evidence>(at(place));
export const getEvidenceOfRun = (dagId: string, runId: string, project: string | null) =>
  ask<Evidence>(`api/dags/${part(dagId)}/runs/${part(runId)}${project === null ? "" : `?project=${part(project)}`}`);
export const setStatus = (place: Place, status: Status, reason: string) =>
  act<Done>(at(place, "/status"), { status, reason });
export const overrideCheck = (place: Place, check: string, reason: string) =>
  act<Done>(at(place, "/overrides"), { check, reason });
export const withdrawOverride = (place: Place, check: string, reason: string) =>
  act<Done>(at(place, "/overrides/withdraw"), { check, reason });

type Request = { dag_id: string; run_id: string; task_id: string; map_index: number };

/** Keeps the decision in the registry, under its rules, and then answers the task of Airflow that waits for it. */
export const decide = async (place: Place, runId: string, decision: "approved" | "refused", reason: string): Promise<Done> => {
  const kept = await act<Done & { request: Request | null }>(at(place, "/decisions"), { run_id: runId, decision, reason });
  if (kept.request !== null) {
    const { dag_id, run_id, task_id, map_index } = kept.request;
    const chosen = decision === "approved" ? "Approve" : "Reject";
    const task = `dags/${part(dag_id)}/dagRuns/${part(run_id)}/taskInstances/${part(task_id)}/${map_index}`;
    try {
      await askAirflow("PATCH", `${task}/hitlDetails`, { chosen_options: [chosen], params_input: { comment: reason } });
    } catch (error) {
      const why = error instanceof Error ? error.message : String(error);
      throw new Refused(`The decision is kept, but the task ${task_id} of the DAG run still waits. ${why}`);
    }
  }
  return { message: kept.message };
};

/** Airflow's own API makes runs and answers tasks, with its own rights. */
const askAirflow = async (method: string, path: string, body: object): Promise<void> => {
  const response = await fetch(new URL(`api/v2/${path}`, document.baseURI), {
    method,
    credentials: "same-origin",
    headers: { "Content-Type": "application/json" },
    body: JSON.stringify(body),
  });
  if (!response.ok) throw new Refused(`Airflow answered ${response.status}: ${await readDetail(response)}`);
};

/** One run for each period, its partition or its parameter; the reason becomes the note of the run. */
export const runPeriods = async (dagId: string, periods: string[], reason: string, isPartitioned: boolean): Promise<Done> => {
  for (const [number, period] of periods.entries()) {
    const what = isPartitioned ? { partition_key: period } : { conf: { period } };
    try {
      await askAirflow("POST", `dags/${part(dagId)}/dagRuns`, { logical_date: null, note: reason, ...what });
    } catch (error) {
      const why = error instanceof Error ? error.message : String(error);
      throw number === 0 ? error : new Refused(`Runs were started for ${periods.slice(0, number).join(", ")}, and not for ${period}. ${why}`);
    }
  }
  return { message: `${periods.length} ${periods.length === 1 ? "run was" : "runs were"} started` };
};

/** A backfill of all periods from the first to the last; the reason stands in the configuration of its runs. */
export const backfill = async (dagId: string, periods: Period[], reason: string): Promise<Done> => {
  await askAirflow("POST", "backfills", {
    dag_id: dagId,
    from_date: `${periods[0]?.start_date}T00:00:00Z`,
    to_date: `${periods[periods.length - 1]?.start_date}T00:00:00Z`,
    reprocess_behavior: "completed",
    max_active_runs: 1,
    dag_run_conf: { reason },
  });
  return { message: `a backfill of ${periods.length} periods was started` };
};
