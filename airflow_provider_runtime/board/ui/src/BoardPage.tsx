/** The matrix with its filters, and the evidence of the cell that was opened. */
import { Box, Button, Flex, Heading, Spinner, Text } from "@chakra-ui/react";
import { useEffect, useRef, useState } from "react";
import { useSearchParams } from "react-router-dom";
import { type Board, type Filter, type Period, type Place, type Project, backfill, getBoard, getEvidence, isAtWork, listPeriods, runPeriods } from "./api";
import { Confirm, type Question } from "./Confirm";
import { sayPaused } from "./actions";
import { EvidencePanel } from "./Evidence";
import { Matrix } from "./Matrix";
import { Select } from "./parts";
import { Legend } from "./states";
import { useAnswer } from "./useAnswer";

const FILTERS = ["calendar", "level", "year", "tag"] as const;

const FilterBar = ({ board, filter, change }: { board: Board; filter: Filter; change: (changes: Filter) => void }) => {
  const { choices, shown } = board;
  return (
    <Flex gap={3} wrap="wrap" mb={3}>
      <Select
        label="Calendar and level"
        value={`${shown.calendar} ${shown.level}`}
        options={choices.calendars.map((item) => ({ value: `${item.calendar} ${item.level}`, text: `${item.calendar}: ${item.level === "all" ? "all levels" : item.level}` }))}
        onChange={(value) => {
          const [calendar, level] = value.split(" ");
          change({ calendar, level, year: "" });
        }}
      />
      <Select label="Year" value={shown.year} options={choices.years.map((year) => ({ value: year, text: year === "all" ? "all years" : year }))} onChange={(year) => change({ year })} />
      <Select
        label="Tag"
        value={filter.tag ?? ""}
        options={[
          { value: "", text: "all tags" },
          ...(filter.tag === undefined || choices.tags.includes(filter.tag) ? choices.tags : [filter.tag, ...choices.tags]).map((tag) => ({ value: tag, text: tag })),
        ]}
        onChange={(tag) => change({ tag })}
      />
    </Flex>
  );
};

const FirstSteps = () => (
  <Box p={6} borderWidth="1px" borderRadius="md">
    <Heading size="md">No periods yet</Heading>
    <Text mt={2}>Periods appear here when a DAG runs a project:</Text>
    <Box as="ol" pl={6} mt={2} css={{ listStyle: "decimal" }}>
      <li>
        Put <code>globals().update(project_dags("catalog"))</code> into a DAG file, beside the folder <code>catalog</code> (<code>airflow-runtime init</code> makes one to start from).
      </li>
      <li>Switch the DAG on.</li>
      <li>Trigger it for a period, or backfill it from the tab of its DAG.</li>
    </Box>
  </Box>
);

/** DAGs of which nothing can be told: a row that is missing without a word would look as if all were well. */
const Unreadable = ({ found }: { found: Board["unreadable"] }) => (
  <Box role="note" mt={3} p={3} borderWidth="1px" borderRadius="md" borderColor="yellow.muted">
    <Text fontWeight="bold">Not on the board</Text>
    {found.map((entry) => (
      <Text key={`${entry.dag_id} ${entry.project}`} fontSize="sm" whiteSpace="pre-line">
        {entry.project} (DAG {entry.dag_id}): {entry.reason}
      </Text>
    ))}
  </Box>
);

const TO_RUN = ["stale", "missing"];

/** Stale and missing open periods of one project. */
const listToRun = (board: Board, project: Project): Period[] =>
  listPeriods(board, project).filter((period) => period.status === "open" && TO_RUN.includes(project.cells[period.period]?.state ?? ""));

/** A backfill takes all periods between two, so that it fits only where none in between is to be left alone. */
const makeRunQuestion = (board: Board, project: Project, periods: Period[]): Question => {
  const names = periods.map((period) => period.period);
  const all = listPeriods(board, project);
  const first = all.indexOf(periods[0] as Period);
  const isRow = periods.every((period, index) => all[first + index] === period);
  const isBackfill = project.backfills && isRow && periods.length > 1;
  return {
    title: `Run ${names.length} stale and missing ${names.length === 1 ? "period" : "periods"} of ${project.project}`,
    consequence: `${
      isBackfill
        ? `Airflow backfills ${names[0]} to ${names[names.length - 1]}, one period after the other.`
        : `Airflow starts a run for each of ${names.join(", ")}.`
    } ${
      project.needs_approval ? "When all its checks pass, the rows of each wait until somebody approves them." : "Each publishes when all its checks pass."
    }${sayPaused(project.is_paused)}`,
    button: isBackfill ? "Backfill" : "Run",
    run: (reason) => (isBackfill ? backfill(project.dag_id, periods, reason) : runPeriods(project.dag_id, names, reason, project.is_partitioned)),
  };
};

const isRunning = (board: Board) => board.projects.some((project) => Object.values(project.cells).some((cell) => cell.state === "running"));

export const BoardPage = ({ dagId }: { dagId?: string }) => {
  const [parameters, setParameters] = useSearchParams();
  const [question, setQuestion] = useState<Question | null>(null);
  const [message, setMessage] = useState<string | null>(null);
  const filter: Filter = Object.fromEntries(FILTERS.map((name) => [name, parameters.get(name) ?? undefined]));
  const board = useAnswer(() => getBoard(dagId, filter), `${dagId ?? ""} ${JSON.stringify(filter)}`, isRunning);
  const opened = { dagId: dagId ?? parameters.get("dag"), project: parameters.get("project"), period: parameters.get("period") };

  const change = (changes: Record<string, string | undefined>) =>
    setParameters((before) => {
      const after = new URLSearchParams(before);
      for (const [name, value] of Object.entries(changes)) value ? after.set(name, value) : after.delete(name);
      return after;
    });

  if (board.failure !== null && board.data === null) return <Text role="alert" p={6}>{board.failure}</Text>;
  if (board.data === null) return <Spinner m={6} />;
  const shown = board.data;
  const marked = shown.projects.find((project) => project.dag_id === opened.dagId && (opened.project ?? project.project) === project.project);
  const toRun = marked?.may_edit ? listToRun(shown, marked) : [];
  return (
    <Box p={4}>
      {dagId === undefined ? <Heading size="xl" mb={3}>Periods</Heading> : null}
      {shown.projects.length === 0 && filter.tag === undefined ? (
        <FirstSteps />
      ) : (
        <>
          <Flex justifyContent="space-between" wrap="wrap" gap={3}>
            <FilterBar board={shown} filter={filter} change={change} />
            {marked !== undefined && toRun.length ? (
              <Button size="sm" variant="outline" onClick={() => setQuestion(makeRunQuestion(shown, marked, toRun))}>
                Run {toRun.length} stale and missing of {marked.project}
              </Button>
            ) : null}
          </Flex>
          {message === null ? null : <Text role="status" color="green.fg" mb={2}>{message}</Text>}
          {board.failure === null ? null : <Text role="alert" color="red.fg" mb={2}>This is what was known before: {board.failure}</Text>}
          {shown.projects.length === 0 ? <Text p={6} borderWidth="1px" borderRadius="md">No project of this calendar and level has the tag "{filter.tag}".</Text> : <Matrix board={shown} opened={opened} onOpen={(project, period) => change({ dag: project.dag_id, project: project.project, period: period.period })} />}
          <Box mt={2}>
            <Legend cells={shown.projects.flatMap((project) => Object.values(project.cells))} />
          </Box>
        </>
      )}
      {shown.unreadable.length ? <Unreadable found={shown.unreadable} /> : null}
      {opened.dagId && opened.period ? (
        <Opened
          key={`${opened.dagId} ${opened.project ?? ""} ${opened.period}`}
          place={{ dagId: opened.dagId, project: opened.project, period: opened.period }}
          onChanged={board.reload}
          onClose={() => change({ dag: "", project: "", period: "" })}
        />
      ) : null}
      {question === null ? null : (
        <Confirm question={question} onClose={() => setQuestion(null)} onDone={(text) => { setQuestion(null); setMessage(text); board.reload(); }} />
      )}
    </Box>
  );
};

const Opened = ({ place, onChanged, onClose }: { place: Place; onChanged: () => void; onClose: () => void }) => {
  const evidence = useAnswer(() => getEvidence(place), JSON.stringify(place), isAtWork);
  const top = useRef<HTMLDivElement>(null);
  const isThere = evidence.data !== null;
  // The matrix may fill the screen: what was opened below it is brought into view.
  useEffect(() => {
    // It returns a promise in new browsers, which React would take for a clean-up.
    void top.current?.scrollIntoView({ block: "start" });
  }, [isThere]);
  return (
    <Box ref={top} position="relative" mt={6} p={4} borderWidth="1px" borderRadius="md">
      <Button size="sm" variant="ghost" position="absolute" top={3} right={3} onClick={onClose} aria-label="Close the evidence">
        ✕
      </Button>
      {evidence.failure !== null ? <Text role="alert" pr={10}>{evidence.failure}</Text> : null}
      {evidence.data === null && evidence.failure === null ? <Spinner /> : null}
      {evidence.data === null ? null : (
        <EvidencePanel shown={evidence.data} onChanged={() => { evidence.reload(); onChanged(); }} />
      )}
    </Box>
  );
};
