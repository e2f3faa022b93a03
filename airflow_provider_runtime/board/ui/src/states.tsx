/** How states look: a sign and a word beside the colour, which nobody has to tell apart. */
import { Box, Flex, Text } from "@chakra-ui/react";
import type { Cell, CheckCounts, State, Status } from "./api";

type Look = { sign: string; palette: string; meaning: string };

export const LOOKS: Record<State, Look> = {
  fresh: { sign: "✓", palette: "green", meaning: "published, and nothing has changed since" },
  stale: { sign: "↻", palette: "yellow", meaning: "published, but a run would give something else now" },
  missing: { sign: "○", palette: "gray", meaning: "never published" },
  failed: { sign: "✕", palette: "red", meaning: "the last run failed" },
  staged: { sign: "◐", palette: "purple", meaning: "computed, waiting to be published" },
  running: { sign: "▶", palette: "blue", meaning: "running now" },
};
export const LATE = "!";
export const WARNED = "△";
export const NOT_DUE = "·";
export const STATUS_SIGNS: Record<Status, string> = { open: "", closed: "▫ closed", locked: "▪ locked" };

export const StateSign = ({ state }: { state: State }) => {
  const look = LOOKS[state];
  return (
    <Box
      as="span"
      aria-hidden
      display="inline-flex"
      alignItems="center"
      justifyContent="center"
      boxSize="1.5rem"
      borderRadius="sm"
      borderWidth="1px"
      colorPalette={look.palette}
      bg="colorPalette.subtle"
      color="colorPalette.fg"
      borderColor="colorPalette.muted"
      fontWeight="bold"
    >
      {look.sign}
    </Box>
  );
};

export const StateBadge = ({ state }: { state: State }) => (
  <Flex as="span" display="inline-flex" gap={2} alignItems="center">
    <StateSign state={state} />
    <Text as="span">{state}</Text>
  </Flex>
);

/** What the signs mean, and how many cells of the matrix have each. */
export const Legend = ({ cells }: { cells: Cell[] }) => {
  const marks: [string, string, number | null][] = [
    [LATE, "late", cells.filter((cell) => cell.late_since !== null).length],
    [WARNED, "checks warned or overridden", cells.filter((cell) => cell.checks?.warned || cell.checks?.overridden).length],
    [NOT_DUE, "not due", null],
  ];
  return (
    <Flex wrap="wrap" columnGap={5} rowGap={1} fontSize="sm" color="fg.muted" aria-label="Legend">
      {Object.entries(LOOKS).map(([state, look]) => (
        <Flex key={state} gap={2} alignItems="center" title={look.meaning}>
          <StateSign state={state as State} />
          {cells.filter((cell) => cell.state === state).length} {state}
        </Flex>
      ))}
      {marks.map(([sign, meaning, number]) => (
        <Flex key={sign} gap={2} alignItems="center">
          <Box as="span" fontWeight="bold" color="red.fg">
            {sign}
          </Box>
          {number} {meaning}
        </Flex>
      ))}
    </Flex>
  );
};

/** What a cell says to somebody who does not see it. */
export const describeCell = (project: string, period: string, status: Status, cell: Cell | undefined): string =>
  [
    `${project}, ${period}: ${cell === undefined ? "not due" : cell.state}`,
    status === "open" ? null : status,
    cell === undefined || cell.late_since === null ? null : `late since ${cell.late_since}`,
    cell === undefined || cell.checks === null ? null : describeChecks(cell.checks),
    cell === undefined || cell.approval === null ? null : `approval: ${cell.approval}`,
    cell === undefined || cell.published_at === null ? null : `published ${cell.published_at}`,
    ...(cell?.reasons ?? []),
  ]
    .filter((text) => text !== null)
    .join("; ");

const describeChecks = (checks: CheckCounts) =>
  `checks: ${Object.entries(checks)
    .filter(([, number]) => number > 0)
    .map(([name, number]) => `${number} ${name}`)
    .join(", ")}`;
