/** The pieces that evidence is made of: sections and tables. */
import { Badge, Box, Heading, NativeSelect, Table, Text } from "@chakra-ui/react";
import type { ReactNode } from "react";
import type { Check, Comparison, Output } from "./api";

export const count = (value: number | null | undefined) => (value === null || value === undefined ? "" : value.toLocaleString("en"));

/** A moment as people read it, in UTC. */
export const moment = (text: string | null) => (text === null ? "" : text.replace(/T(\d\d:\d\d)(:\d\d)?.*$/, " $1 UTC"));

export const Section = ({ title, children }: { title: string; children: ReactNode }) => (
  <Box as="section" mt={6}>
    <Heading as="h3" size="md" mb={2}>
      {title}
    </Heading>
    {children}
  </Box>
);

/** A table; columns whose numbers are listed stand to the right. */
export const Rows = ({ heads, rows, numbers = [] }: { heads: string[]; rows: ReactNode[][]; numbers?: number[] }) => (
  <Box overflowX="auto">
    <Table.Root size="sm">
      <Table.Header>
        <Table.Row>
          {heads.map((head, index) => (
            <Table.ColumnHeader key={index} textAlign={numbers.includes(index) ? "end" : "start"}>
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

const writeKey = (key: Record<string, string | null>) =>
  Object.entries(key)
    .map(([name, value]) => `${name} ${value ?? "NULL"}`)
    .join(", ");

/** Checks with their groups; what can be done about a check stands in the last column. */
export const Checks = ({ checks, act }: { checks: Check[]; act?: (check: Check) => ReactNode }) => (
  <>
    <Rows
      heads={["Check", "Status", "Value", "Expected", "Difference", "Failing rows", ""]}
      numbers={[2, 3, 4, 5]}
      rows={checks.flatMap((check) => [
        [
          check.name,
          <CheckStatus check={check} />,
          check.value,
          check.expected,
          check.difference,
          check.failing_rows_uri === null ? count(check.failing_rows) : <span title={check.failing_rows_uri}>{count(check.failing_rows)}</span>,
          act?.(check) ?? null,
        ],
        ...(check.groups ?? [])
          .filter((group) => group.status === "failed" || group.status === "warned")
          .slice(0, 8)
          .map((group) => [<Text as="span" pl={4}>{writeKey(group.key)}</Text>, group.status, group.value, group.expected, group.difference, "", ""]),
      ])}
    />
    {checks
      .filter((check) => check.failing_rows_uri !== null || check.message)
      .map((check) => (
        <Text key={`${check.name} ${check.output}`} fontSize="sm" mt={1} overflowWrap="anywhere">
          {check.name}: {check.message}
          {check.failing_rows_uri === null ? null : ` The failing rows are kept in ${check.failing_rows_uri}`}
        </Text>
      ))}
  </>
);

export const Changes = ({ comparison }: { comparison: Comparison }) => (
  <>
    {comparison.outputs.map((output) => {
      const columns = output.columns.filter((column) => column.changed > 0 || (column.difference ?? "0").replace(/[0.-]/g, "") !== "");
      return (
        <Box key={output.seq} mb={3}>
          <Text fontWeight="medium">
            Output {output.seq}, {output.destination}: {count(output.added)} added, {count(output.removed)} removed, {count(output.changed)} changed;{" "}
            {count(output.rows_before)} rows before, {count(output.rows_after)} after
          </Text>
          {columns.length ? (
            <Rows
              heads={["Column", "Rows changed", "Total before", "Total after", "Difference"]}
              numbers={[1, 2, 3, 4]}
              rows={columns.map((column) => [column.name, count(column.changed), column.total_before, column.total_after, column.difference])}
            />
          ) : null}
        </Box>
      );
    })}
  </>
);

export const writeTotals = (totals: Output["totals"]) =>
  Object.entries(totals ?? {})
    .filter(([, total]) => total !== null)
    .map(([name, total]) => `${name} ${total}`)
    .join(", ");

export const Outputs = ({ outputs }: { outputs: Output[] }) => (
  <Rows
    heads={["Seq", "Destination", "Rows", "Totals", "Registered as"]}
    numbers={[2]}
    rows={outputs.map((output) => [
      output.seq,
      output.table_version ? `${output.destination}, version ${output.table_version}` : output.destination,
      count(output.rows),
      writeTotals(output.totals),
      output.registered_dataset === null ? "" : `${output.registered_dataset}${output.registered_version === null ? "" : ` version ${output.registered_version}`}`,
    ])}
  />
);

type SelectProps = { label: string; value: string; options: { value: string; text: string }[]; onChange: (value: string) => void };

export const Select = ({ label, value, options, onChange }: SelectProps) => (
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
