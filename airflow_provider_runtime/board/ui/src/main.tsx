/** The page that Airflow loads: in its navigation, as a tab of a DAG, and as a tab of a DAG run. */
import { Box, Spinner, Text } from "@chakra-ui/react";
import { useState } from "react";
import { BoardPage } from "./BoardPage";
import { EvidencePanel } from "./Evidence";
import { getEvidenceOfRun, isAtWork } from "./api";
import { Select } from "./parts";
import { useAnswer } from "./useAnswer";

type Props = { dagId?: string; runId?: string };

const RunTab = ({ dagId, runId }: { dagId: string; runId: string }) => {
  const [project, setProject] = useState<string | null>(null);
  const evidence = useAnswer(() => getEvidenceOfRun(dagId, runId, project), `${dagId} ${runId} ${project ?? ""}`, isAtWork);
  if (evidence.failure !== null && evidence.data === null) return <Text role="alert" p={6}>{evidence.failure}</Text>;
  if (evidence.data === null) return <Spinner m={6} />;
  const { projects = [], project: shown } = evidence.data;
  return (
    <Box p={4}>
      {projects.length > 1 ? (
        <Box mb={3}>
          <Select label="Project" value={shown} options={projects.map((name) => ({ value: name, text: name }))} onChange={setProject} />
        </Box>
      ) : null}
      <EvidencePanel key={shown} shown={evidence.data} onChanged={evidence.reload} />
    </Box>
  );
};

const Periods = ({ dagId, runId }: Props) =>
  dagId !== undefined && runId !== undefined ? <RunTab dagId={dagId} runId={runId} /> : <BoardPage dagId={dagId} />;

export default Periods;
