// Who is told when something waits.
import { Empty } from "./bits";

export function Notifications() {
  return <Empty title="Nobody is told yet"><p>Leave this page open: the number of waiting holds is in its title.</p></Empty>;
}
