/** A dialog that says what will happen, and asks why. */
import { Button, Dialog, Portal, Text, Textarea } from "@chakra-ui/react";
import { useEffect, useRef, useState } from "react";

export type Question = {
  title: string;
  consequence: string;
  button: string;
  isFinal?: boolean;
  run: (reason: string) => Promise<{ message: string }>;
};

type Props = { question: Question; onClose: () => void; onDone: (message: string) => void };

export const Confirm = ({ question, onClose, onDone }: Props) => {
  const [reason, setReason] = useState("");
  const [failure, setFailure] = useState<string | null>(null);
  const [isBusy, setBusy] = useState(false);
  // The dialog unmounts when it closes, so focus is returned to the button that opened it.
  const asked = useRef(document.activeElement);
  useEffect(() => () => void setTimeout(() => (asked.current as HTMLElement | null)?.focus()), []);

  const confirm = async () => {
    setBusy(true);
    setFailure(null);
    try {
      onDone((await question.run(reason.trim())).message);
    } catch (error) {
      setFailure(error instanceof Error ? error.message : String(error));
      setBusy(false);
    }
  };

  return (
    <Dialog.Root open onOpenChange={({ open }) => !open && onClose()}>
      <Portal>
        <Dialog.Backdrop />
        <Dialog.Positioner>
          <Dialog.Content>
            <Dialog.Header>
              <Dialog.Title>{question.title}</Dialog.Title>
            </Dialog.Header>
            <Dialog.Body>
              <Text mb={3}>{question.consequence}</Text>
              <label htmlFor="runtime-reason">Reason</label>
              <Textarea id="runtime-reason" value={reason} onChange={(event) => setReason(event.target.value)} autoFocus />
              {failure === null ? null : (
                <Text role="alert" color="red.fg" mt={2}>
                  {failure}
                </Text>
              )}
            </Dialog.Body>
            <Dialog.Footer>
              <Button variant="outline" onClick={onClose}>
                Cancel
              </Button>
              <Button colorPalette={question.isFinal ? "red" : "blue"} disabled={!reason.trim() || isBusy} loading={isBusy} onClick={() => void confirm()}>
                {question.button}
              </Button>
            </Dialog.Footer>
          </Dialog.Content>
        </Dialog.Positioner>
      </Portal>
    </Dialog.Root>
  );
};
