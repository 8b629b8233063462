// SPDX-License-Identifier: Apache-2.0
// Notes that end in a question and that nobody answered for two weeks.
// deja loop run --dry-run --only example.open_questions --analyzer-cmd 'example.open_questions=node open-questions.mjs'
import { finding, serve } from "./deja-analyzer.mjs";

const FORTNIGHT_MS = 14 * 86_400_000;

function* analyze({ grains, now_ms }) {
  for (const grain of grains.filter((one) => one.grain_type === "observation")) {
    const text = grain.fields.content ?? grain.fields.object ?? "";
    const old = now_ms - grain.created_at_ms >= FORTNIGHT_MS;
    if (old && typeof text === "string" && text.trim().endsWith("?")) {
      yield finding(`grain:${grain.hash}`, `still open: ${text.trim().slice(0, 120)}`, [grain]);
    }
  }
}

serve({ title: "Open questions", description: "questions in notes, older than two weeks" }, analyze);
