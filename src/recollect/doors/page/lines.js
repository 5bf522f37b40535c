// Lines of lists: what the keys do with the memory whose line has the focus, in every view.
import { get, memoryPath } from "./api.js";
import { forget } from "./actions.js";
import { askToRelate, askToSupersede } from "./forms.js";
import { onKey, step } from "./keys.js";
import { within } from "./route.js";
import { rights } from "./rights.js";
import { complain } from "./toast.js";

/** Forget the memory of a line; the focus goes on to the next one. */
export function forgetHere(memory) {
  step(".opens", 1);
  if (document.activeElement?.closest("[data-id]")?.dataset.id === memory.id) step(".opens", -1);
  forget(memory.id);
}

/** Do something with the memory of the line that has the focus, if one has and writing is allowed. */
function withFocused(act) {
  return async () => {
    const id = document.activeElement?.closest("[data-id]")?.dataset.id;
    if (!id || !rights.get().write) return;
    const memory = await get(memoryPath(id), within()).catch(complain);
    if (memory && memory.kind !== "passage") act(memory);
  };
}

/** Listen to the keys that change the memory of a line; the function that is returned ends it. */
export function listen() {
  const ends = [
    onKey("supersede", withFocused((memory) => !memory.superseded_by && askToSupersede(memory))),
    onKey("relate", withFocused(askToRelate)),
    onKey("forget", withFocused(forgetHere)),
  ];
  return () => ends.forEach((end) => end());
}
