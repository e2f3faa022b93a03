/** What the board's API answers, and how it is asked. */

export type State = "fresh" | "stale" | "missing" | "failed" | "staged" | "running";
export type Status = "open" | "closed" | "locked";

export type Project = { project: string; dag_id: string; tags: string[]; may_edit: boolean };
export type Period = { period: string; start_date: string; end_date: string; status: Status; who: string; reason: string };
export type CheckCounts = { passed: number; failed: number; warned: number };
export type Cell = {
  state: State;
  late_since: string | null;
  checks: CheckCounts | null;
  approval: string | null;
  published_at: string | null;
  rows: number | null;
  reasons: string[];
};
export type Board = {
  projects: Project[];
  periods: Period[];
  cells: Record<string, Record<string, Cell>>;
  choices: { calendars: { calendar: string; level: string }[]; years: string[]; tags: string[] };
  shown: { calendar: string; level: string; year: string };
};

export type Reason = { kind: string; detail: string; columns: string[] };
export type Check = {
  name: string;
  output: number;
  kind: string;
  on_fail: string;
  status: string;
  rows: number | null;
  failing_rows: number | null;
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
export type Evidence = {
  project: string;
  project_version: number | null;
  dag_id: string;
  period: string;
  state: State;
  status: Status;
  reasons: Reason[];
  run: {
    run_id: string;
    status: string;
    who: string | null;
    started_at: string;
    finished_at: string | null;
    published_at: string | null;
    snapshot_sha256: string;
    error: { code: string; message: string; hint: string | null } | null;
  } | null;
  pins: { used_by: string; dataset: string; version: number; resolver: string }[];
  operations: { seq: number; type: string; name: string; rows_affected: number | null; rows_after: number | null; seconds: number | null }[];
  outputs: { seq: number; destination: string; rows: number; registered_dataset: string | null; registered_version: number | null }[];
  checks: Check[];
  comparison: Comparison | null;
  approval: { decision: string; who: string; at: string; comment: string | null } | null;
  history: { run_id: string; published_at: string; rows: number | null; who: string | null }[];
  status_history: { status: Status; who: string; reason: string; at: string }[];
  downstream: { project: string; period: string; state: State }[];
  links: { dag_run: string | null; log: string | null; file: string };
  may_edit: boolean;
};

export class Refused extends Error {}

const base = () => new URL("runtime-board/", document.baseURI);

const ask = async <T>(path: string, init?: RequestInit): Promise<T> => {
  const response = await fetch(new URL(path, base()), { credentials: "same-origin", ...init });
  if (response.ok) return (await response.json()) as T;
  const body: unknown = await response.json().catch(() => null);
  const detail = body !== null && typeof body === "object" && "detail" in body ? body.detail : response.statusText;
  throw new Refused(typeof detail === "string" ? detail : JSON.stringify(detail));
};

const act = <T>(path: string, body: object): Promise<T> =>
  ask<T>(path, { method: "POST", headers: { "Content-Type": "application/json" }, body: JSON.stringify(body) });

const part = (text: string) => encodeURIComponent(text);
const place = (dagId: string, period: string) => `api/dags/${part(dagId)}/periods/${part(period)}`;

export type Filter = { calendar?: string; level?: string; year?: string; tag?: string };

const query = (filter: Filter) => {
  const entries = Object.entries(filter).filter(([, value]) => value !== undefined && value !== "");
  return entries.length ? `?${new URLSearchParams(entries as [string, string][]).toString()}` : "";
};

export const getBoard = (dagId: string | undefined, filter: Filter) =>
  ask<Board>((dagId === undefined ? "api/board" : `api/dags/${part(dagId)}/board`) + query(filter));
export const getEvidence = (dagId: string, period: string) => ask<Evidence>(place(dagId, period));
export const getEvidenceOfRun = (dagId: string, runId: string) =>
  ask<Evidence>(`api/dags/${part(dagId)}/runs/${part(runId)}`);
export const setStatus = (dagId: string, period: string, status: Status, reason: string) =>
  act<{ message: string }>(`${place(dagId, period)}/status`, { status, reason });
export const overrideCheck = (dagId: string, period: string, check: string, reason: string) =>
  act<{ message: string }>(`${place(dagId, period)}/overrides`, { check, reason });

/** Airflow's own API makes runs and takes decisions, with its own rights; the reason becomes the note of the run. */
const askAirflow = async (method: string, path: string, body: object): Promise<void> => {
  const response = await fetch(new URL(`api/v2/${path}`, document.baseURI), {
    method,
    credentials: "same-origin",
    headers: { "Content-Type": "application/json" },
    body: JSON.stringify(body),
  });
  if (!response.ok) throw new Refused(`${path}: ${response.status} ${await response.text()}`);
};

export const runPeriods = async (dagId: string, periods: string[], reason: string): Promise<{ message: string }> => {
  for (const period of periods)
    await askAirflow("POST", `dags/${part(dagId)}/dagRuns`, { logical_date: null, partition_key: period, note: reason });
  return { message: `${periods.length} ${periods.length === 1 ? "run was" : "runs were"} started` };
};
