/** Projects by periods. Arrow keys, Home and End move, Enter opens. */
import { Box, Link } from "@chakra-ui/react";
import { type KeyboardEvent, memo, useEffect, useRef } from "react";
import { type Board, type Cell, type Period, type Project, listPeriods } from "./api";
import { LATE, LOOKS, NOT_DUE, STATUS_SIGNS, WARNED, describeCell } from "./states";

const STEPS: Record<string, [number, number]> = {
  ArrowUp: [-1, 0],
  ArrowDown: [1, 0],
  ArrowLeft: [0, -1],
  ArrowRight: [0, 1],
  Home: [0, -Infinity],
  End: [0, Infinity],
};

/** One set of rules for all cells: thousands of styled components would take seconds to appear. */
const RULES = {
  borderCollapse: "separate",
  borderSpacing: 0,
  "& th, & td": { borderBottomWidth: "1px", whiteSpace: "nowrap" },
  "& th": { bg: "bg", position: "sticky", fontWeight: "medium", textAlign: "start", verticalAlign: "middle", px: 2, py: 1 },
  "& thead th": { top: 0, zIndex: 2, fontSize: "sm", textAlign: "center" },
  "& tbody th": { left: 0, zIndex: 1 },
  "& tr > th:first-of-type": { minW: "12rem", maxW: "22rem", overflow: "hidden", textOverflow: "ellipsis", borderEndWidth: "1px" },
  "& thead th:first-of-type": { left: 0, zIndex: 3, textAlign: "start" },
  "& tbody tr:last-of-type > *": { borderBottomWidth: 0 },
  "& small": { display: "block", fontSize: "xs", fontWeight: "normal", color: "fg.muted" },
  "& td": { textAlign: "center", px: 1, py: 1 },
  "& button": { position: "relative", minW: "3.2rem", h: "1.7rem", px: 1, borderWidth: "1px", borderRadius: "sm", fontWeight: "bold", cursor: "pointer", color: "fg.muted" },
  "& button:focus-visible": { outline: "2px solid", outlineColor: "blue.focusRing" },
  "& button[aria-current=true]": { outline: "2px solid", outlineColor: "fg" },
  "& button sup": { position: "absolute", top: 0, right: "3px", lineHeight: 1.2, color: "red.fg" },
  ...Object.fromEntries(
    Object.entries(LOOKS).map(([state, { palette }]) => [
      `& button[data-state=${state}]`,
      { bg: `${palette}.subtle`, color: `${palette}.fg`, borderColor: `${palette}.muted` },
    ]),
  ),
};

const describePeriod = (period: Period) =>
  `${period.start_date} to ${period.end_date}${period.who ? `; ${period.status} by ${period.who}: ${period.reason}` : ""}`;

const mark = (cell: Cell) => `${cell.late_since === null ? "" : LATE}${cell.checks?.warned || cell.checks?.overridden ? WARNED : ""}`;

type Place = { period: Period | null; first: number; count: number };

/** Where a project's periods stand among the columns: coarser ones span the columns that lie in them. */
const placePeriods = (columns: Period[], periods: Period[]): Place[] => {
  const places: Place[] = [];
  for (let first = 0; first < columns.length; first += places[places.length - 1]?.count ?? 1) {
    const column = columns[first] as Period;
    const period = periods.find((found) => found.start_date <= column.start_date && column.end_date <= found.end_date) ?? null;
    const inside = period === null ? [column] : columns.slice(first).filter((other) => other.start_date <= period.end_date);
    places.push({ period, first, count: inside.length });
  }
  return places;
};

type RowProps = { project: Project; row: number; places: Place[]; entrance: number | null; opened: string | null };

const Row = memo(({ project, row, places, entrance, opened }: RowProps) => (
  <tr>
    <th scope="row" title={project.project}>
      <Link href={new URL(`dags/${encodeURIComponent(project.dag_id)}`, document.baseURI).href}>{project.project}</Link>
      {project.dag_id === project.project ? null : <small>DAG {project.dag_id}</small>}
    </th>
    {places.map(({ period, first, count }) => {
      if (period === null) return <td key={first} />;
      const cell = project.cells[period.period];
      const text = describeCell(project.project, period.period, period.status, cell);
      return (
        <td key={first} colSpan={count}>
          <button
            type="button"
            data-cell={`${row}:${first}`}
            data-state={cell?.state}
            tabIndex={first === entrance ? 0 : -1}
            aria-label={text}
            aria-current={opened === period.period}
            title={text}
            style={count > 1 ? { width: "100%" } : undefined}
          >
            {cell === undefined ? NOT_DUE : LOOKS[cell.state].sign}
            <sup>{cell === undefined ? "" : mark(cell)}</sup>
          </button>
        </td>
      );
    })}
  </tr>
));

type Props = { board: Board; opened: { dagId: string | null; project: string | null; period: string | null }; onOpen: (project: Project, period: Period) => void };

export const Matrix = ({ board, opened, onOpen }: Props) => {
  const grid = useRef<HTMLTableElement>(null);

  const find = (target: EventTarget): HTMLButtonElement | null => (target as HTMLElement).closest<HTMLButtonElement>("button[data-cell]");
  const read = (button: HTMLButtonElement) => (button.dataset.cell ?? "0:0").split(":").map(Number) as [number, number];

  const columns = board.periods.length;
  // The newest periods are what people come for.
  useEffect(() => {
    const frame = grid.current?.parentElement;
    const cell = grid.current?.querySelector<HTMLButtonElement>("button[aria-current='true']");
    if (cell) {
      // Airflow remounts the page when the first cell is opened, so keyboard users keep their cell.
      cell.scrollIntoView({ block: "nearest", inline: "center" });
      if (document.activeElement === document.body) cell.focus({ preventScroll: true });
    } else if (frame) frame.scrollLeft = frame.scrollWidth;
  }, [columns]);
  const levels = new Map(board.projects.map((project) => [project.level, placePeriods(board.periods, listPeriods(board, project))]));
  const placesOf = (row: number) => levels.get(board.projects[row]?.level ?? "") ?? [];

  // Where Tab enters: the newest period of the first project that has one.
  const firstRow = board.projects.findIndex((_, row) => placesOf(row).some((place) => place.period !== null));
  const newest = firstRow < 0 ? undefined : placesOf(firstRow).findLast((place) => place.period !== null);
  const entrance = newest === undefined ? null : { row: firstRow, first: newest.first };

  const move = (event: KeyboardEvent) => {
    const step = STEPS[event.key];
    const button = find(event.target);
    if (step === undefined || button === null) return;
    event.preventDefault();
    const [row, first] = read(button);
    const toRow = Math.min(Math.max(row + step[0], 0), board.projects.length - 1);
    const leaves = step[1] > 0 ? (placesOf(row).find((place) => place.first === first)?.count ?? 1) - 1 : 0;
    const toColumn = Math.min(Math.max(first + leaves + step[1], 0), columns - 1);
    const place = placesOf(toRow).find((found) => found.period !== null && found.first <= toColumn && toColumn < found.first + found.count);
    const next = grid.current?.querySelector<HTMLButtonElement>(`[data-cell="${toRow}:${place?.first ?? toColumn}"]`);
    if (!next) return;
    // One cell at a time is reached with Tab: the one that was left last.
    for (const other of grid.current?.querySelectorAll<HTMLButtonElement>("button[tabindex='0']") ?? []) other.tabIndex = -1;
    next.tabIndex = 0;
    next.focus({ preventScroll: true });
    // Not under the names of the projects, which stay where they are.
    const frame = grid.current?.parentElement;
    const names = grid.current?.querySelector("tbody th")?.getBoundingClientRect();
    next.scrollIntoView({ block: "nearest", inline: "nearest" });
    const hidden = (names?.right ?? 0) - next.getBoundingClientRect().left;
    if (frame && hidden > 0) frame.scrollLeft -= hidden;
  };

  const open = (target: EventTarget) => {
    const button = find(target);
    if (button === null) return;
    const [row, column] = read(button);
    const project = board.projects[row];
    const period = placesOf(row).find((place) => place.first === column)?.period;
    if (project !== undefined && period) onOpen(project, period);
  };

  return (
    <Box overflow="auto" w="fit-content" maxW="100%" maxH="70vh" borderWidth="1px" borderRadius="md">
      <Box as="table" ref={grid} role="grid" aria-label="Projects by periods" onKeyDown={move} onClick={(event) => open(event.target)} css={RULES}>
        <thead>
          <tr>
            <th scope="col">Project</th>
            {board.periods.map((period) => (
              <th scope="col" key={period.period} title={describePeriod(period)}>
                {period.period}
                {STATUS_SIGNS[period.status] ? <small>{STATUS_SIGNS[period.status]}</small> : null}
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          {board.projects.map((project, row) => (
            <Row
              key={`${project.dag_id} ${project.project}`}
              project={project}
              row={row}
              places={placesOf(row)}
              entrance={row === entrance?.row ? entrance.first : null}
              opened={project.dag_id === opened.dagId && (opened.project ?? project.project) === project.project ? opened.period : null}
            />
          ))}
        </tbody>
      </Box>
    </Box>
  );
};
