/** The page that Airflow loads: in its navigation, as a tab of a DAG, and as a tab of a DAG run. */
import { Box, Spinner, Text } from "@chakra-ui/react";
import { BoardPage } from "./BoardPage";
import { EvidencePanel } from "./Evidence";
import { getEvidenceOfRun, isAtWork } from "./api";
import { useAnswer } from "./useAnswer";

type Props = { dagId?: string; runId?: string };

const RunTab = ({ dagId, runId }: { dagId: string; runId: string }) => {
  const evidence = useAnswer(() => getEvidenceOfRun(dagId, runId), `${dagId} ${runId}`, isAtWork);
  if (evidence.failure !== null && evidence.data === null) return <Text role="alert" p={6}>{evidence.failure}</Text>;
  return evidence.data === null ? <Spinner m={6} /> : <Box p={4}><EvidencePanel shown={evidence.data} onChanged={evidence.reload} /></Box>;
};

const Periods = ({ dagId, runId }: Props) =>
  dagId !== undefined && runId !== undefined ? <RunTab dagId={dagId} runId={runId} /> : <BoardPage dagId={dagId} />;

export default Periods;
