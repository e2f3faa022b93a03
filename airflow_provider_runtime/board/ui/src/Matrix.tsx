/** Projects by periods. Arrow keys move, Enter opens. */
import { Box, Flex, Link, Text } from "@chakra-ui/react";
import { type KeyboardEvent, useRef, useState } from "react";
import type { Board, Cell, Period, Project } from "./api";
import { STATUS_SIGNS, StateSign, describeCell } from "./states";

const MISSING: Cell = { state: "missing", late_since: null, checks: null, approval: null, published_at: null, rows: null, reasons: [] };
const STEPS: Record<string, [number, number]> = {
  ArrowUp: [-1, 0],
  ArrowDown: [1, 0],
  ArrowLeft: [0, -1],
  ArrowRight: [0, 1],
};

type Props = { board: Board; onOpen: (project: Project, period: Period) => void };

const sticky = { position: "sticky" as const, bg: "bg", zIndex: 1 };

export const Matrix = ({ board, onOpen }: Props) => {
  const grid = useRef<HTMLTableElement>(null);
  const [active, setActive] = useState<[number, number]>([0, Math.max(board.periods.length - 1, 0)]);

  const move = (event: KeyboardEvent) => {
    const step = STEPS[event.key];
    if (step === undefined) return;
    event.preventDefault();
    const row = Math.min(Math.max(active[0] + step[0], 0), board.projects.length - 1);
    const column = Math.min(Math.max(active[1] + step[1], 0), board.periods.length - 1);
    setActive([row, column]);
    grid.current?.querySelector<HTMLButtonElement>(`[data-cell="${row}:${column}"]`)?.focus();
  };

  return (
    <Box overflow="auto" maxH="70vh" borderWidth="1px" borderRadius="md">
      <Box as="table" ref={grid} role="grid" aria-label="Projects by periods" onKeyDown={move} borderCollapse="separate" css={{ borderSpacing: 0 }}>
        <thead>
          <tr>
            <Box as="th" {...sticky} top={0} left={0} zIndex={3} textAlign="left" p={2} minW="14rem" borderBottomWidth="1px">
              Project
            </Box>
            {board.periods.map((period) => (
              <Box
                as="th"
                key={period.period}
                {...sticky}
                top={0}
                zIndex={2}
                p={2}
                borderBottomWidth="1px"
                fontWeight="medium"
                fontSize="sm"
                whiteSpace="nowrap"
                title={`${period.start_date} to ${period.end_date}${period.who ? `; ${period.status} by ${period.who}: ${period.reason}` : ""}`}
              >
                {period.period}
                <Text fontSize="xs" color="fg.muted" minH="1.1em" fontWeight="normal">
                  {STATUS_SIGNS[period.status]}
                </Text>
              </Box>
            ))}
          </tr>
        </thead>
        <tbody>
          {board.projects.map((project, row) => (
            <tr key={project.dag_id}>
              <Box as="th" {...sticky} left={0} textAlign="left" px={2} py={1} fontWeight="medium" borderBottomWidth="1px">
                <Link href={new URL(`dags/${encodeURIComponent(project.dag_id)}`, document.baseURI).href}>{project.project}</Link>
              </Box>
              {board.periods.map((period, column) => {
                const cell = board.cells[project.dag_id]?.[period.period] ?? MISSING;
                return (
                  <Box as="td" key={period.period} textAlign="center" px={1} py={1} borderBottomWidth="1px">
                    <Box
                      as="button"
                      data-cell={`${row}:${column}`}
                      data-state={cell.state}
                      tabIndex={active[0] === row && active[1] === column ? 0 : -1}
                      aria-label={describeCell(project.project, period.period, period.status, cell)}
                      title={describeCell(project.project, period.period, period.status, cell)}
                      onFocus={() => setActive([row, column])}
                      onClick={() => onOpen(project, period)}
                      cursor="pointer"
                      borderRadius="sm"
                      p="1px"
                      _focusVisible={{ outline: "2px solid", outlineColor: "blue.focusRing" }}
                    >
                      <Flex gap="1px" alignItems="center">
                        <StateSign state={cell.state} />
                        <Box as="span" aria-hidden w="0.6rem" fontWeight="bold" color="red.fg">
                          {cell.late_since === null ? "" : "!"}
                        </Box>
                      </Flex>
                    </Box>
                  </Box>
                );
              })}
            </tr>
          ))}
        </tbody>
      </Box>
    </Box>
  );
};
