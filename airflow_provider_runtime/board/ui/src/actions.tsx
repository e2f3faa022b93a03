/** What can be done about a period, and what each of it will do. */
import { Box, Button, Flex, Text } from "@chakra-ui/react";
import { type Check, type Evidence, type Place, type Status, type Waiting, decide, overrideCheck, runPeriods, setStatus, withdrawOverride } from "./api";
import type { Question } from "./Confirm";
import { moment } from "./parts";

export type Ask = (question: Question) => void;

export const getPlace = (shown: Evidence): Place => ({ dagId: shown.dag_id, project: shown.project, period: shown.period });

const makeStatusQuestion = (shown: Evidence, status: Status): Question => {
  const verbs: Record<Status, string> = { open: "Reopen", closed: "Close", locked: "Lock" };
  const consequences: Record<Status, string> = {
    open: `Runs of ${shown.period} may publish again, in every project of the calendar ${shown.calendar}.`,
    closed: `No project of the calendar ${shown.calendar} publishes ${shown.period} any more, until somebody reopens it. Finer periods inside it are closed too.`,
    locked: `No project of the calendar ${shown.calendar} ever publishes ${shown.period} again. Runs that are under way publish nothing. This is final: it cannot be reopened.`,
  };
  return {
    title: `${verbs[status]} ${shown.period}`,
    consequence: consequences[status],
    button: verbs[status],
    isFinal: status === "locked",
    run: (reason) => setStatus(getPlace(shown), status, reason),
  };
};

/** What is said of a run that Airflow will not begin. */
export const sayPaused = (isPaused: boolean) => (isPaused ? " The DAG is switched off: nothing runs until somebody switches it on." : "");

export const Actions = ({ shown, ask }: { shown: Evidence; ask: Ask }) => {
  if (!shown.may_edit) return null;
  const { dag_id: dagId, period, status } = shown;
  const isOpen = status === "open";
  return (
    <Flex gap={2} wrap="wrap" mt={3} alignItems="center">
      <Button size="sm" variant="outline" disabled={!isOpen} onClick={() => ask({
        title: `Run ${shown.project} for ${period}`,
        consequence: `Airflow starts a run for this period. ${
          shown.needs_approval
            ? "When all checks pass, its rows wait until somebody approves them."
            : shown.run?.published_at == null
              ? "It publishes when all checks pass."
              : "When all checks pass, it replaces what is published."
        }${sayPaused(shown.is_paused)}`,
        button: "Run",
        run: (reason) => runPeriods(dagId, [period], reason, shown.is_partitioned),
      })}>
        Run this period
      </Button>
      {isOpen ? (
        <Button size="sm" variant="outline" onClick={() => ask(makeStatusQuestion(shown, "closed"))}>
          Close
        </Button>
      ) : null}
      {status === "closed" ? (
        <Button size="sm" variant="outline" onClick={() => ask(makeStatusQuestion(shown, "open"))}>
          Reopen
        </Button>
      ) : null}
      {status === "locked" ? null : (
        <Button size="sm" variant="outline" colorPalette="red" onClick={() => ask(makeStatusQuestion(shown, "locked"))}>
          Lock
        </Button>
      )}
      {isOpen ? null : (
        <Text fontSize="sm" color="fg.muted">
          {status === "closed" ? "A closed period is run again after it was reopened." : "A locked period never changes again."}
        </Text>
      )}
    </Flex>
  );
};

/** The rows that wait for a decision, with who may take it. */
export const Decisions = ({ shown, waiting, ask }: { shown: Evidence; waiting: Waiting; ask: Ask }) => {
  const decided = waiting.decision;
  const name = `${shown.project} for ${shown.period}`;
  return (
    <Box role="region" aria-label="Waiting for a decision" mt={4} p={3} borderWidth="1px" borderRadius="md" colorPalette="purple" borderColor="colorPalette.muted" bg="colorPalette.subtle">
      <Text fontWeight="bold">
        {decided === null ? "Computed, checked, and waiting to be published" : `${decided.decision} by ${decided.who}: ${decided.comment ?? ""}`}
      </Text>
      <Text fontSize="sm">
        Run {waiting.run_id} by {waiting.preparer ?? "nobody known"}.{" "}
        {waiting.needs_approval
          ? `It may be approved by ${waiting.approvers.join(", ") || "nobody: its preparer is the only approver"}.`
          : `No approval is asked for: publish it with airflow-runtime publish ${waiting.run_id}.`}{" "}
        {waiting.kept_until === null ? "" : `Its rows are kept until ${moment(waiting.kept_until)}.`}
      </Text>
      {shown.may_edit ? (
        <Flex gap={2} mt={2}>
          {waiting.needs_approval ? (
            <Button size="sm" colorPalette="green" disabled={shown.status !== "open"} title={shown.status === "open" ? undefined : `${shown.period} is ${shown.status}: nothing of it is published`} onClick={() => ask({
              title: `Approve ${name}`,
              consequence: "What this run has staged is published, and replaces what readers see now. Your name and comment stand in the evidence.",
              button: "Approve",
              run: (reason) => decide(getPlace(shown), waiting.run_id, "approved", reason),
            })}>
              Approve
            </Button>
          ) : null}
          <Button size="sm" variant="outline" colorPalette="red" onClick={() => ask({
            title: `Refuse ${name}`,
            consequence: "What this run has staged is discarded; readers go on seeing what is published now. Your name and comment stand in the evidence.",
            button: "Refuse",
            isFinal: true,
            run: (reason) => decide(getPlace(shown), waiting.run_id, "refused", reason),
          })}>
            Refuse
          </Button>
        </Flex>
      ) : null}
    </Box>
  );
};

/** The button beside a check: let it fail, or end that. */
export const CheckAction = ({ shown, check, ask }: { shown: Evidence; check: Check; ask: Ask }) => {
  if (!shown.may_edit) return null;
  if (shown.permissions.some((permission) => permission.check === check.name))
    return (
      <Button size="xs" variant="outline" onClick={() => ask({
        title: `Withdraw the override of "${check.name}"`,
        consequence: `The check stops runs of ${shown.period} again that are resolved from now on.`,
        button: "Withdraw",
        run: (reason) => withdrawOverride(getPlace(shown), check.name, reason),
      })}>
        Withdraw override
      </Button>
    );
  if (check.status !== "failed") return null;
  return (
    <Button size="xs" variant="outline" onClick={() => ask({
      title: `Override "${check.name}"`,
      consequence: `This failing check no longer stops runs of ${shown.period} that are resolved from now on; run the period again to publish it. Your name and reason stand in the evidence.`,
      button: "Override",
      run: (reason) => overrideCheck(getPlace(shown), check.name, reason),
    })}>
      Override
    </Button>
  );
};
