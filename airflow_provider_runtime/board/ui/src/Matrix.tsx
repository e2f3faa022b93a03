/** Projects by periods. Arrow keys, Home and End move, Enter opens. */
import { Box, Link } from "@chakra-ui/react";
import { type KeyboardEvent, memo, useRef } from "react";
import type { Board, Cell, Period, Project } from "./api";
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
  "& th": { bg: "bg", position: "sticky", fontWeight: "medium", textAlign: "start", px: 2, py: 1 },
  "& thead th": { top: 0, zIndex: 2, fontSize: "sm", textAlign: "center" },
  "& tbody th": { left: 0, zIndex: 1 },
  "& thead th:first-of-type": { left: 0, zIndex: 3, minW: "14rem", textAlign: "start" },
  "& small": { display: "block", minH: "1.3em", fontSize: "xs", fontWeight: "normal", color: "fg.muted" },
  "& td": { textAlign: "center", px: 1, py: 1 },
  "& button": { minW: "1.9rem", h: "1.6rem", px: 1, borderWidth: "1px", borderRadius: "sm", fontWeight: "bold", cursor: "pointer", color: "fg.muted" },
  "& button:focus-visible": { outline: "2px solid", outlineColor: "blue.focusRing" },
  "& button[aria-current=true]": { outline: "2px solid", outlineColor: "fg" },
  "& button sup": { ml: "1px", color: "red.fg" },
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

type RowProps = { project: Project; row: number; periods: Period[]; opened: string | null };

const Row = memo(({ project, row, periods, opened }: RowProps) => (
  <tr>
    <th scope="row">
      <Link href={new URL(`dags/${encodeURIComponent(project.dag_id)}`, document.baseURI).href}>{project.project}</Link>
      {project.dag_id === project.project ? null : <small>DAG {project.dag_id}</small>}
    </th>
    {periods.map((period, column) => {
      const cell = project.cells[period.period];
      const text = describeCell(project.project, period.period, period.status, cell);
      return (
        <td key={period.period}>
          <button
            type="button"
            data-cell={`${row}:${column}`}
            data-state={cell?.state}
            tabIndex={row === 0 && column === periods.length - 1 ? 0 : -1}
            aria-label={text}
            aria-current={opened === period.period}
            title={text}
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

  const move = (event: KeyboardEvent) => {
    const step = STEPS[event.key];
    const button = find(event.target);
    if (step === undefined || button === null) return;
    event.preventDefault();
    const [row, column] = read(button);
    const to = [Math.min(Math.max(row + step[0], 0), board.projects.length - 1), Math.min(Math.max(column + step[1], 0), board.periods.length - 1)];
    const next = grid.current?.querySelector<HTMLButtonElement>(`[data-cell="${to.join(":")}"]`);
    // One cell at a time is reached with Tab: the one that was left last.
    for (const other of grid.current?.querySelectorAll<HTMLButtonElement>("button[tabindex='0']") ?? []) other.tabIndex = -1;
    if (next) next.tabIndex = 0;
    next?.focus();
  };

  const open = (target: EventTarget) => {
    const button = find(target);
    if (button === null) return;
    const [row, column] = read(button);
    const [project, period] = [board.projects[row], board.periods[column]];
    if (project !== undefined && period !== undefined) onOpen(project, period);
  };

  return (
    <Box overflow="auto" maxH="70vh" borderWidth="1px" borderRadius="md">
      <Box as="table" ref={grid} role="grid" aria-label="Projects by periods" onKeyDown={move} onClick={(event) => open(event.target)} css={RULES}>
        <thead>
          <tr>
            <th scope="col">Project</th>
            {board.periods.map((period) => (
              <th scope="col" key={period.period} title={describePeriod(period)}>
                {period.period}
                <small>{STATUS_SIGNS[period.status]}</small>
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
              periods={board.periods}
              opened={project.dag_id === opened.dagId && (opened.project ?? project.project) === project.project ? opened.period : null}
            />
          ))}
        </tbody>
      </Box>
    </Box>
  );
};
