/** Everything that is known of one project's period, and what can be done about it. */
import { Badge, Box, Code, Flex, Heading, Link, Text } from "@chakra-ui/react";
import { useState } from "react";
import { Actions, CheckAction, Decisions } from "./actions";
import type { Evidence, Run, RunLinks } from "./api";
import { Confirm, type Question } from "./Confirm";
import { Changes, Checks, Outputs, Rows, Section, count, moment, writeTotals } from "./parts";
import { StateBadge } from "./states";

const RunTable = ({ run, links, file }: { run: Run; links: RunLinks; file?: string }) => (
  <>
    <Rows
      heads={["Run", "Status", "By", "Started", "Finished", "Published", "Snapshot"]}
      rows={[[
        <Code>{run.run_id}</Code>, run.status, run.who, moment(run.started_at), moment(run.finished_at), moment(run.published_at),
        <Code title={run.snapshot_sha256}>{run.snapshot_sha256.slice(0, 12)}</Code>,
      ]]}
    />
    {run.error === null ? null : (
      <Box role="alert" mt={2} p={3} borderWidth="1px" borderRadius="md" borderColor="red.muted">
        <Text fontWeight="bold">
          {run.error.code}: {run.error.message}
        </Text>
        {run.error.hint ? <Text>hint: {run.error.hint}</Text> : null}
      </Box>
    )}
    <Flex gap={4} mt={2} fontSize="sm" wrap="wrap">
      {links.dag_run === null ? null : <Link variant="underline" href={links.dag_run}>DAG run</Link>}
      {links.log === null ? null : <Link variant="underline" href={links.log}>Log</Link>}
      {links.snapshot === null ? null : <Link variant="underline" href={links.snapshot} target="_blank">Snapshot</Link>}
      {links.report === null ? null : <Link variant="underline" href={links.report} target="_blank">Report</Link>}
      {file === undefined ? null : <Link variant="underline" href={file} target="_blank">Evidence as a file</Link>}
    </Flex>
  </>
);

const Deadline = ({ deadline, isPublished }: { deadline: NonNullable<Evidence["deadline"]>; isPublished: boolean }) =>
  deadline.is_late ? <Badge colorPalette="red">! {isPublished ? "published late" : "late"}: was due {moment(deadline.due)}</Badge> : <Badge>due {moment(deadline.due)}</Badge>;

/** The tab of a DAG run says how that run stands: what its tasks refuse is in no registry. */
const AirflowRun = ({ airflow }: { airflow: NonNullable<Evidence["airflow"]> }) => (
  <Box role={airflow.state === "failed" ? "alert" : "status"} mt={3} p={3} borderWidth="1px" borderRadius="md" borderColor={airflow.state === "failed" ? "red.muted" : "border"}>
    <Text>This DAG run: {airflow.state}.</Text>
    {airflow.failed.map((task) => (
      <Text key={task.task_id}>
        The task {task.task_id} failed: <Link variant="underline" href={task.log}>its log says why</Link>
      </Text>
    ))}
  </Box>
);

type Props = { shown: Evidence; onChanged: () => void };

export const EvidencePanel = ({ shown, onChanged }: Props) => {
  const [question, setQuestion] = useState<Question | null>(null);
  const [message, setMessage] = useState<string | null>(null);
  const { run, latest } = shown;
  return (
    <Box data-testid="evidence">
      <Flex gap={3} alignItems="center" wrap="wrap" pr={10}>
        <Heading as="h2" size="lg">
          {shown.project}, {shown.period}
        </Heading>
        <StateBadge state={shown.state} />
        {shown.status === "open" ? null : <Badge>{shown.status}</Badge>}
        {shown.deadline === null ? null : <Deadline deadline={shown.deadline} isPublished={shown.history.length > 0} />}
      </Flex>
      {message === null ? null : (
        <Text role="status" color="green.fg" mt={2}>
          {message}
        </Text>
      )}
      {shown.airflow === undefined ? null : <AirflowRun airflow={shown.airflow} />}
      <Actions shown={shown} ask={setQuestion} />
      {shown.waiting === null ? null : <Decisions shown={shown} waiting={shown.waiting} ask={setQuestion} />}
      {shown.reasons.length ? (
        <Section title="Why it is not fresh">
          <Rows heads={["What", "Detail", "Columns"]} rows={shown.reasons.map((reason) => [reason.kind, reason.detail, reason.columns.join(", ")])} />
        </Section>
      ) : null}
      {latest === null ? null : (
        <Section title="Latest run, which is not published">
          <RunTable run={latest.run} links={shown.links.latest} />
          {latest.checks.length ? <Checks checks={latest.checks} act={(check) => <CheckAction shown={shown} check={check} ask={setQuestion} />} /> : null}
          {latest.comparison === null ? null : <Changes comparison={latest.comparison} />}
          {latest.outputs.length ? <Outputs outputs={latest.outputs} /> : null}
        </Section>
      )}
      {run === null ? (
        <Text mt={4}>No run yet.</Text>
      ) : (
        <Section title={run.published_at === null ? "Run" : "Published run"}>
          <RunTable run={run} links={shown.links} file={shown.links.file} />
        </Section>
      )}
      {shown.approval === null ? null : (
        <Section title="Approval">
          <Rows
            heads={["Decision", "By", "Prepared by", "When", "Comment"]}
            rows={[[shown.approval.decision, shown.approval.who, shown.approval.preparer, moment(shown.approval.at), shown.approval.comment]]}
          />
        </Section>
      )}
      {shown.checks.length ? (
        <Section title="Checks">
          <Checks checks={shown.checks} act={latest === null ? (check) => <CheckAction shown={shown} check={check} ask={setQuestion} /> : undefined} />
        </Section>
      ) : null}
      {shown.overrides.length || shown.permissions.length ? (
        <Section title="Checks that may fail">
          <Rows
            heads={["Check", "By", "When", "Reason", ""]}
            rows={[
              ...shown.overrides.map((found) => [found.check, found.who, moment(found.at), found.reason, "in this run"]),
              ...shown.permissions.map((found) => [found.check, found.who, moment(found.at), found.reason, "in runs from now on"]),
            ]}
          />
        </Section>
      ) : null}
      {shown.comparison === null ? null : (
        <Section title="Compared with the publication before">
          <Changes comparison={shown.comparison} />
        </Section>
      )}
      {shown.outputs.length ? (
        <Section title="Outputs">
          <Outputs outputs={shown.outputs} />
        </Section>
      ) : null}
      {shown.operations.length ? (
        <Section title="Operations">
          <Rows
            heads={["Seq", "Operation", "Name", "Rows affected", "Rows after", "Seconds", "Joins"]}
            numbers={[3, 4, 5]}
            rows={shown.operations.map((operation) => [
              operation.seq,
              operation.type,
              operation.name,
              count(operation.rows_affected),
              count(operation.rows_after),
              operation.seconds === null ? "" : operation.seconds.toFixed(1),
              (operation.joins ?? []).map((join) => `${join.alias}: ${count(join.matched)} matched, ${count(join.unmatched)} not`).join("; "),
            ])}
          />
        </Section>
      ) : null}
      {shown.pins.length ? (
        <Section title={`Versions read${shown.as_of === null ? "" : `, as of ${shown.as_of}`}`}>
          <Rows heads={["Used by", "Dataset", "Version", "Table version", "Resolver"]} rows={shown.pins.map((pin) => [pin.used_by, pin.dataset, pin.version, pin.table_version, pin.resolver])} />
        </Section>
      ) : null}
      {shown.sources.length ? (
        <Section title="Files read">
          <Rows
            heads={["Table", "Files", "Bytes", "Fingerprint"]}
            numbers={[1, 2]}
            rows={shown.sources.map((source) => [source.table, count(source.files), count(source.bytes), <Code title={source.fingerprint ?? ""}>{(source.fingerprint ?? "").slice(0, 19)}</Code>])}
          />
        </Section>
      ) : null}
      {shown.downstream === null ? (
        <Section title="What depends on it">
          <Text>Not known: other projects of the catalog could not be looked at.</Text>
        </Section>
      ) : shown.downstream.length ? (
        <Section title="What depends on it">
          <Rows heads={["Project", "Period", "State"]} rows={shown.downstream.map((entry) => [entry.project, entry.period, <StateBadge state={entry.state} />])} />
        </Section>
      ) : null}
      {shown.history.length ? (
        <Section title="Publications">
          <Rows heads={["Published", "By", "Version", "Rows", "Totals", "Run"]} numbers={[2, 3]} rows={shown.history.map((entry) => [moment(entry.published_at), entry.who, entry.project_version, count(entry.rows), entry.outputs.map((output) => writeTotals(output.totals)).filter(Boolean).join("; "), <Code>{entry.run_id}</Code>])} />
        </Section>
      ) : null}
      {shown.status_history.length ? (
        <Section title="Closing and reopening">
          <Rows heads={["Status", "By", "When", "Reason"]} rows={shown.status_history.map((entry) => [entry.status, entry.who, moment(entry.at), entry.reason])} />
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
