-- What long runs are asked for: a worker's leases, the newest leases, the open round. Without these each such question reads all
-- leases of a run, the one for its workers once for each of them. All is added: older programs may go on.

CREATE INDEX lease_by_worker ON lease (run_id, worker_id, round);
CREATE INDEX lease_newest ON lease (run_id, (round + 1) DESC, replica); -- views count rounds from 1
CREATE INDEX round_open ON round (run_id) WHERE state = 'open';
