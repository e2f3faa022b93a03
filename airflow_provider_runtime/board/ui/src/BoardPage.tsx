/** The matrix with its filters, and the evidence of the cell that was opened. */
import { Box, Button, Flex, Heading, NativeSelect, Spinner, Text } from "@chakra-ui/react";
import { useState } from "react";
import { useSearchParams } from "react-router-dom";
import { type Board, type Filter, getBoard, getEvidence, runPeriods } from "./api";
import { Confirm, type Question } from "./Confirm";
import { EvidencePanel } from "./Evidence";
import { Matrix } from "./Matrix";
import { Legend } from "./states";
import { useAnswer } from "./useAnswer";

const FILTERS = ["calendar", "level", "year", "tag"] as const;

type SelectProps = { label: string; value: string; options: { value: string; text: string }[]; onChange: (value: string) => void };

const Select = ({ label, value, options, onChange }: SelectProps) => (
  <NativeSelect.Root size="sm" width="auto">
    <NativeSelect.Field aria-label={label} value={value} onChange={(event) => onChange(event.target.value)}>
      {options.map((option) => (
        <option key={option.value} value={option.value}>
          {option.text}
        </option>
      ))}
    </NativeSelect.Field>
    <NativeSelect.Indicator />
  </NativeSelect.Root>
);

const FilterBar = ({ board, filter, change }: { board: Board; filter: Filter; change: (changes: Filter) => void }) => {
  const { choices, shown } = board;
  return (
    <Flex gap={3} wrap="wrap" mb={3}>
      <Select
        label="Calendar and level"
        value={`${shown.calendar} ${shown.level}`}
        options={choices.calendars.map((item) => ({ value: `${item.calendar} ${item.level}`, text: `${item.calendar}: ${item.level}` }))}
        onChange={(value) => {
          const [calendar, level] = value.split(" ");
          change({ calendar, level, year: "" });
        }}
      />
      <Select label="Year" value={shown.year} options={choices.years.map((year) => ({ value: year, text: year === "all" ? "all years" : year }))} onChange={(year) => change({ year })} />
      <Select
        label="Tag"
        value={filter.tag ?? ""}
        options={[{ value: "", text: "all tags" }, ...choices.tags.map((tag) => ({ value: tag, text: tag }))]}
        onChange={(tag) => change({ tag })}
      />
    </Flex>
  );
};

const FirstSteps = () => (
  <Box p={6} borderWidth="1px" borderRadius="md">
    <Heading size="md">No periods yet</Heading>
    <Text mt={2}>
      Periods appear here when a DAG runs a project: put <code>globals().update(project_dags("catalog"))</code> into a DAG file, unpause the DAG, and trigger it or
      backfill a period.
    </Text>
  </Box>
);

/** Stale and missing periods of one project, which a backfill can run. */
const listToRun = (board: Board, dagId: string): string[] =>
  board.periods
    .filter((period) => period.status === "open" && ["stale", "missing"].includes(board.cells[dagId]?.[period.period]?.state ?? "missing"))
    .map((period) => period.period);

export const BoardPage = ({ dagId }: { dagId?: string }) => {
  const [parameters, setParameters] = useSearchParams();
  const [question, setQuestion] = useState<Question | null>(null);
  const [message, setMessage] = useState<string | null>(null);
  const filter: Filter = Object.fromEntries(FILTERS.map((name) => [name, parameters.get(name) ?? undefined]));
  const board = useAnswer(() => getBoard(dagId, filter), `${dagId ?? ""} ${JSON.stringify(filter)}`);
  const opened = { dag: dagId ?? parameters.get("dag"), period: parameters.get("period") };

  const change = (changes: Record<string, string | undefined>) =>
    setParameters((before) => {
      const after = new URLSearchParams(before);
      for (const [name, value] of Object.entries(changes)) value ? after.set(name, value) : after.delete(name);
      return after;
    });

  if (board.failure !== null) return <Text role="alert" p={6}>{board.failure}</Text>;
  if (board.data === null) return <Spinner m={6} />;
  const shown = board.data;
  const runnable = dagId !== undefined && shown.projects[0]?.may_edit ? listToRun(shown, dagId) : [];
  return (
    <Box p={4}>
      {dagId === undefined ? <Heading size="xl" mb={3}>Periods</Heading> : null}
      {shown.projects.length === 0 || shown.periods.length === 0 ? (
        <FirstSteps />
      ) : (
        <>
          <Flex justifyContent="space-between" wrap="wrap">
            <FilterBar board={shown} filter={filter} change={change} />
            {runnable.length ? (
              <Button size="sm" variant="outline" onClick={() => setQuestion({
                title: `Run ${runnable.length} stale and missing periods`,
                consequence: `Airflow starts a run for each of ${runnable.join(", ")}, in order.`,
                button: "Run",
                run: (reason) => runPeriods(dagId as string, runnable, reason),
              })}>
                Run stale and missing
              </Button>
            ) : null}
          </Flex>
          {message === null ? null : <Text role="status" color="green.fg" mb={2}>{message}</Text>}
          <Matrix board={shown} onOpen={(project, period) => change({ dag: project.dag_id, period: period.period })} />
          <Box mt={2}>
            <Legend />
          </Box>
        </>
      )}
      {opened.dag && opened.period ? (
        <Opened key={`${opened.dag} ${opened.period}`} dagId={opened.dag} period={opened.period} onChanged={board.reload} onClose={() => change({ dag: "", period: "" })} />
      ) : null}
      {question === null ? null : (
        <Confirm question={question} onClose={() => setQuestion(null)} onDone={(text) => { setQuestion(null); setMessage(text); board.reload(); }} />
      )}
    </Box>
  );
};

const Opened = ({ dagId, period, onChanged, onClose }: { dagId: string; period: string; onChanged: () => void; onClose: () => void }) => {
  const evidence = useAnswer(() => getEvidence(dagId, period), `${dagId} ${period}`);
  return (
    <Box mt={6} p={4} borderWidth="1px" borderRadius="md">
      <Flex justifyContent="flex-end">
        <Button size="xs" variant="ghost" onClick={onClose} aria-label="Close the evidence">
          ✕
        </Button>
      </Flex>
      {evidence.failure !== null ? <Text role="alert">{evidence.failure}</Text> : null}
      {evidence.data === null && evidence.failure === null ? <Spinner /> : null}
      {evidence.data === null ? null : (
        <EvidencePanel shown={evidence.data} onChanged={() => { evidence.reload(); onChanged(); }} />
      )}
    </Box>
  );
};
