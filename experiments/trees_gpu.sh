#!/usr/bin/env bash
# Trees of known revisions with a small solver on one GPU, from converted weights to lessons and a table of gains:
#   experiments/trees_gpu.sh serve            starts the solvers that do not answer yet, and waits for them
#   experiments/trees_gpu.sh grow MINUTES     grows in PARTS processes, each over its own tasks with a store of its own
#   experiments/trees_gpu.sh pack OUT         what there is so far: lessons, gains, summary, thin stores; also while it grows
#   experiments/trees_gpu.sh look             how far it is
# `grow` goes on where it stopped, also from the thin stores of another machine laid out as WORK/part-N/home/loriner.db with
# WORK/part-N/run. Needs: pip install 'loriner[rg]' vllm, weights by experiments/convert.py.
set -uo pipefail
cd "$(dirname "$0")/.."

WORK=${WORK:-runs/trees}
WEIGHTS=${WEIGHTS:-weights/solver}
CONFIG=${CONFIG:-configs/trees.toml}
PARTS=${PARTS:-4}                              # one process drives some thirty trials a second
PORT=${PORT:-8001}                             # of the first solver
SERVERS=${SERVERS:-2}                          # an engine of a small model is held up by its own process, not by the GPU
TASKS_HOME=${TASKS_HOME:-$WORK/home}           # frozen questions: TASKS_HOME/tasks, made where missing
PYTHON=${PYTHON:-python3}
SETS=${SETS:-}                                 # further --set arguments
export VLLM_USE_FLASHINFER_SAMPLER=0 TOKENIZERS_PARALLELISM=false HF_HUB_OFFLINE=1
export PYTHONPATH=$PWD/src${PYTHONPATH:+:$PYTHONPATH}
mkdir -p "$WORK"

answers() { curl -sf "http://localhost:$1/v1/models" >/dev/null 2>&1; }

ports() { seq "$PORT" $((PORT + SERVERS - 1)); }

answering() { local port; for port in $(ports); do answers "$port" && echo "$port"; done; }

engine() { # PORT: a cache of its own, in bytes, since engines that start side by side take each other's memory for theirs
    VLLM_CACHE_ROOT=$WORK/cache-$1 setsid nohup $PYTHON -m vllm.entrypoints.cli.main serve "$WEIGHTS" --served-model-name solver \
        --port "$1" --max-model-len 8192 --max-num-seqs 256 --gpu-memory-utilization 0.08 --kv-cache-memory-bytes 30000000000 \
        --api-server-count "${API_SERVERS:-3}" \
        >"$WORK/server-$1.log" 2>&1 </dev/null &
}

serve() { # returns when all answer, or some and the rest stay away for a minute and a half
    local port waited=0 since=0
    for port in $(ports); do answers "$port" || engine "$port"; done
    until [ "$(answering | wc -l)" = "$SERVERS" ] || [ $since -gt 90 ]; do
        sleep 2; waited=$((waited + 2))
        [ -n "$(answering)" ] && since=$((since + 2))
        [ $waited -gt "${PATIENCE:-420}" ] && { tail -n 20 "$WORK"/server-*.log; echo "no solver after $waited s"; return 1; }
    done
    echo "solvers on $(answering | xargs) after $waited s"
}

loriner() { # PART ARGUMENTS...: with the part's own store, and away from the GPU
    local home=$WORK/part-$1/home; shift
    CUDA_VISIBLE_DEVICES= $PYTHON -m loriner --home "$home" --set allow_reduced=true "$@"
}

trees() { # PART ARGUMENTS...
    local part=$1 port=$PORT ready; shift
    mapfile -t ready < <(answering)
    [ ${#ready[@]} -gt 0 ] && port=${ready[$((part % ${#ready[@]}))]}
    loriner "$part" --json train trees "$CONFIG" --set "solver=http://localhost:$port/v1::solver" --set "output=$WORK/part-$part/out" $SETS "$@"
}

grow() { # MINUTES
    local part pids=()
    for part in $(seq "$PARTS"); do
        mkdir -p "$WORK/part-$part/home"
        [ -e "$WORK/part-$part/home/tasks" ] || ln -s "$(realpath -m "$TASKS_HOME")/tasks" "$WORK/part-$part/home/tasks"
        mkdir -p "$TASKS_HOME/tasks"
        resume=$([ -s "$WORK/part-$part/run" ] && echo "--resume $(cat "$WORK/part-$part/run")")
        trees "$part" --minutes "$1" --part "$part/$PARTS" $resume \
            >"$WORK/part-$part/summary.json" 2>"$WORK/part-$part/log" &
        pids+=($!)
    done
    note_runs
    wait "${pids[@]}"
    touch "$WORK/grown"
    look
}

note_runs() { # keeps the id of each part's run, by which it goes on
    local part run
    for part in $(seq "$PARTS"); do
        for _ in $(seq 120); do
            run=$(sed -n 's/^run //p' "$WORK/part-$part/log" | head -n 1)
            [ -n "$run" ] && { echo "$run" >"$WORK/part-$part/run"; break; }
            sleep 1
        done
    done
}

look() {
    local part
    for part in $(seq "$PARTS"); do
        echo "part $part: $($PYTHON - "$WORK/part-$part/home/loriner.db" <<'END'
import json, sqlite3, sys
store = sqlite3.connect(f"file:{sys.argv[1]}?mode=ro", uri=True)
nodes = [json.loads(row[0]) for row in store.execute("SELECT data FROM events WHERE kind = 'tree node'")]
depths = [len(each["path"]) + 1 for each in nodes]
trials = dict(store.execute("SELECT status, count(*) FROM trials GROUP BY status"))
print({depth: depths.count(depth) for depth in sorted(set(depths))}, "nodes by depth;", trials)
END
        ) $(tail -n 1 "$WORK/part-$part/log" | cut -c1-200)"
    done
}

pack() { # OUT: thin stores in parts of 15 MiB; lessons, gains and summary of all parts together
    local out=$1 part also=()
    mkdir -p "$out" && rm -rf "$WORK/merged" && mkdir -p "$WORK/merged/part-0/home"
    for part in $(seq "$PARTS"); do
        mkdir -p "$WORK/thin/$part"
        $PYTHON experiments/thin_store.py "$WORK/part-$part/home/loriner.db" "$WORK/thin/$part/loriner.db"
        $PYTHON -m loriner --home "$WORK/merged/part-0/home" store merge "$WORK/thin/$part"
        also+=(--also "$(cat "$WORK/part-$part/run")")
    done
    ln -sfn "$(realpath -m "$TASKS_HOME")/tasks" "$WORK/merged/part-0/home/tasks"
    (WORK=$WORK/merged; trees 0 --minutes 0 "${also[@]}" >"$WORK/summary.json" 2>"$WORK/log") || tail -n 3 "$WORK/merged/log"
    tar -C "$WORK" --sort=name -czf "$out/trees.tar.gz" merged/part-0/out merged/summary.json \
        $(cd "$WORK" && ls -d part-*/log part-*/run part-*/summary.json server-*.log 2>/dev/null)
    gzip -c "$WORK/merged/part-0/home/loriner.db" | split -b 15M -d - "$out/loriner.db.gz."
    ls -l "$out"
}

verb=${1:?serve, grow MINUTES, pack OUT or look}; shift
"$verb" "$@"
