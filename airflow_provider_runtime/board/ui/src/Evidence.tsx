/** Everything that is known of one project's period, and what can be done about it. */
import { Badge, Box, Button, Code, Flex, Heading, Link, Table, Text } from "@chakra-ui/react";
import { type ReactNode, useState } from "react";
import { type Check, type Evidence, type Status, overrideCheck, runPeriods, setStatus } from "./api";
import { Confirm, type Question } from "./Confirm";
import { StateBadge } from "./states";

type Value = ReactNode;

const Section = ({ title, children }: { title: string; children: ReactNode }) => (
  <Box as="section" mt={6}>
    <Heading as="h3" size="md" mb={2}>
      {title}
    </Heading>
    {children}
  </Box>
);

const Rows = ({ heads, rows, numbers = [] }: { heads: string[]; rows: Value[][]; numbers?: number[] }) => (
  <Box overflowX="auto">
    <Table.Root size="sm">
      <Table.Header>
        <Table.Row>
          {heads.map((head, index) => (
            <Table.ColumnHeader key={head} textAlign={numbers.includes(index) ? "end" : "start"}>
              {head}
            </Table.ColumnHeader>
          ))}
        </Table.Row>
      </Table.Header>
      <Table.Body>
        {rows.map((row, number) => (
          <Table.Row key={number}>
            {row.map((value, index) => (
              <Table.Cell key={index} textAlign={numbers.includes(index) ? "end" : "start"} fontVariantNumeric="tabular-nums">
                {value}
              </Table.Cell>
            ))}
          </Table.Row>
        ))}
      </Table.Body>
    </Table.Root>
  </Box>
);

const CHECK_PALETTES: Record<string, string> = { passed: "green", failed: "red", warned: "yellow", overridden: "purple" };

const CheckStatus = ({ check }: { check: Check }) => (
  <Badge colorPalette={CHECK_PALETTES[check.status] ?? "gray"} title={check.message ?? ""}>
    {check.status}
  </Badge>
);

const count = (value: number | null) => (value === null ? "" : value.toLocaleString("en"));

const makeStatusQuestion = (shown: Evidence, status: Status): Question => {
  const verbs: Record<Status, string> = { open: "Reopen", closed: "Close", locked: "Lock" };
  const consequences: Record<Status, string> = {
    open: `Runs of ${shown.period} may publish again, in every project of this calendar.`,
    closed: `No project of this calendar publishes ${shown.period} any more, until somebody reopens it.`,
    locked: `No project of this calendar ever publishes ${shown.period} again. Runs that are under way publish nothing. This is final.`,
  };
  return {
    title: `${verbs[status]} ${shown.period}`,
    consequence: consequences[status],
    button: verbs[status],
    isFinal: status === "locked",
    run: (reason) => setStatus(shown.dag_id, shown.period, status, reason),
  };
};

const Actions = ({ shown, ask }: { shown: Evidence; ask: (question: Question) => void }) => {
  if (!shown.may_edit) return null;
  const { dag_id: dagId, period } = shown;
  const isLocked = shown.status === "locked";
  return (
    <Flex gap={2} wrap="wrap" mt={3}>
      <Button size="sm" variant="outline" disabled={isLocked} onClick={() => ask({
        title: `Run ${shown.project} for ${period}`,
        consequence: "Airflow starts a run for this period. It publishes when all checks pass.",
        button: "Run",
        run: (reason) => runPeriods(dagId, [period], reason),
      })}>
        Run this period
      </Button>
      {shown.status === "open" ? (
        <Button size="sm" variant="outline" onClick={() => ask(makeStatusQuestion(shown, "closed"))}>
          Close
        </Button>
      ) : null}
      {shown.status === "closed" ? (
        <Button size="sm" variant="outline" onClick={() => ask(makeStatusQuestion(shown, "open"))}>
          Reopen
        </Button>
      ) : null}
      {isLocked ? null : (
        <Button size="sm" variant="outline" colorPalette="red" onClick={() => ask(makeStatusQuestion(shown, "locked"))}>
          Lock
        </Button>
      )}
    </Flex>
  );
};

const Checks = ({ shown, ask }: { shown: Evidence; ask: (question: Question) => void }) => (
  <Rows
    heads={["Check", "Status", "Value", "Expected", "Difference", "Failing rows", ""]}
    numbers={[2, 3, 4, 5]}
    rows={shown.checks.map((check) => [
      check.name,
      <CheckStatus check={check} />,
      check.value,
      check.expected,
      check.difference,
      count(check.failing_rows),
      check.status === "failed" && shown.may_edit ? (
        <Button size="xs" variant="outline" onClick={() => ask({
          title: `Override "${check.name}"`,
          consequence: `This failing check no longer stops runs of ${shown.period} that are resolved from now on. Your name and reason stand in the evidence.`,
          button: "Override",
          run: (reason) => overrideCheck(shown.dag_id, shown.period, check.name, reason),
        })}>
          Override
        </Button>
      ) : null,
    ])}
  />
);

const Changes = ({ shown }: { shown: NonNullable<Evidence["comparison"]> }) => (
  <>
    {shown.outputs.map((output) => (
      <Box key={output.seq} mb={3}>
        <Text fontWeight="medium">
          Output {output.seq}, {output.destination}: {count(output.added)} added, {count(output.removed)} removed, {count(output.changed)} changed;{" "}
          {count(output.rows_before)} rows before, {count(output.rows_after)} after
        </Text>
        <Rows
          heads={["Column", "Rows changed", "Total before", "Total after", "Difference"]}
          numbers={[1, 2, 3, 4]}
          rows={output.columns
            .filter((column) => column.changed > 0 || (column.difference !== null && column.difference !== "0"))
            .map((column) => [column.name, count(column.changed), column.total_before, column.total_after, column.difference])}
        />
      </Box>
    ))}
  </>
);

export const EvidencePanel = ({ shown, onChanged }: { shown: Evidence; onChanged: () => void }) => {
  const [question, setQuestion] = useState<Question | null>(null);
  const [message, setMessage] = useState<string | null>(null);
  const { run } = shown;
  return (
    <Box data-testid="evidence">
      <Flex gap={3} alignItems="center" wrap="wrap">
        <Heading as="h2" size="lg">
          {shown.project}, {shown.period}
        </Heading>
        <StateBadge state={shown.state} />
        {shown.status === "open" ? null : <Badge>{shown.status}</Badge>}
      </Flex>
      {message === null ? null : (
        <Text role="status" color="green.fg" mt={2}>
          {message}
        </Text>
      )}
      <Actions shown={shown} ask={setQuestion} />
      {shown.reasons.length ? (
        <Section title="Why it is not fresh">
          <Rows heads={["What", "Detail", "Columns"]} rows={shown.reasons.map((reason) => [reason.kind, reason.detail, reason.columns.join(", ")])} />
        </Section>
      ) : null}
      {run === null ? (
        <Text mt={4}>No run yet.</Text>
      ) : (
        <Section title="Run">
          <Rows
            heads={["Run", "Status", "By", "Started", "Published"]}
            rows={[[<Code>{run.run_id}</Code>, run.status, run.who, run.started_at, run.published_at]]}
          />
          {run.error === null ? null : (
            <Box role="alert" mt={2} p={3} borderWidth="1px" borderRadius="md" borderColor="red.muted">
              <Text fontWeight="bold">
                {run.error.code}: {run.error.message}
              </Text>
              {run.error.hint === null ? null : <Text>hint: {run.error.hint}</Text>}
            </Box>
          )}
          <Flex gap={4} mt={2} fontSize="sm">
            {shown.links.dag_run === null ? null : <Link href={shown.links.dag_run}>DAG run</Link>}
            {shown.links.log === null ? null : <Link href={shown.links.log}>Log</Link>}
            <Link href={shown.links.file}>Evidence as a file</Link>
          </Flex>
        </Section>
      )}
      {shown.checks.length ? (
        <Section title="Checks">
          <Checks shown={shown} ask={setQuestion} />
        </Section>
      ) : null}
      {shown.comparison === null ? null : (
        <Section title="Compared with the publication before">
          <Changes shown={shown.comparison} />
        </Section>
      )}
      {shown.outputs.length ? (
        <Section title="Outputs">
          <Rows
            heads={["Seq", "Destination", "Rows", "Registered as"]}
            numbers={[2]}
            rows={shown.outputs.map((output) => [
              output.seq,
              output.destination,
              count(output.rows),
              output.registered_dataset === null ? "" : `${output.registered_dataset} version ${output.registered_version ?? ""}`,
            ])}
          />
        </Section>
      ) : null}
      {shown.operations.length ? (
        <Section title="Operations">
          <Rows
            heads={["Seq", "Operation", "Name", "Rows affected", "Rows after", "Seconds"]}
            numbers={[3, 4, 5]}
            rows={shown.operations.map((operation) => [
              operation.seq,
              operation.type,
              operation.name,
              count(operation.rows_affected),
              count(operation.rows_after),
              operation.seconds === null ? "" : operation.seconds.toFixed(1),
            ])}
          />
        </Section>
      ) : null}
      {shown.pins.length ? (
        <Section title="Versions read">
          <Rows heads={["Used by", "Dataset", "Version", "Resolver"]} rows={shown.pins.map((pin) => [pin.used_by, pin.dataset, pin.version, pin.resolver])} />
        </Section>
      ) : null}
      {shown.downstream.length ? (
        <Section title="What depends on it">
          <Rows heads={["Project", "Period", "State"]} rows={shown.downstream.map((entry) => [entry.project, entry.period, <StateBadge state={entry.state} />])} />
        </Section>
      ) : null}
      {shown.history.length ? (
        <Section title="Publications">
          <Rows heads={["Published", "By", "Rows", "Run"]} numbers={[2]} rows={shown.history.map((entry) => [entry.published_at, entry.who, count(entry.rows), <Code>{entry.run_id}</Code>])} />
        </Section>
      ) : null}
      {shown.status_history.length ? (
        <Section title="Closing and reopening">
          <Rows heads={["Status", "By", "When", "Reason"]} rows={shown.status_history.map((entry) => [entry.status, entry.who, entry.at, entry.reason])} />
        </Section>
      ) : null}
      {question === null ? null : (
        <Confirm
          question={question}
          onClose={() => setQuestion(null)}
          onDone={(text) => {
            setQuestion(null);
            setMessage(text);
            onChanged();
          }}
        />
      )}
    </Box>
  );
};
