# Sourced by the scripts beside it: stages that run once, and servers. Needs WORK, PYTHON and SERVE (vllm, or a command that
# takes DIR NAME PORT CACHE and further arguments).
export VLLM_USE_FLASHINFER_SAMPLER=0            # without top-p and top-k it does nothing but compile, for two minutes
export TRL_EXPERIMENTAL_SILENCE=1 TOKENIZERS_PARALLELISM=false HF_HUB_OFFLINE=${HF_HUB_OFFLINE:-1}
export PYTHONPATH=$PWD/src${PYTHONPATH:+:$PYTHONPATH}
mkdir -p "$WORK/logs" "$WORK/done" "$WORK/results"

say() { echo "[$(date +%H:%M:%S)] $*" | tee -a "$WORK/logs/run.log"; }

# stage NAME COMMAND...: runs it once, timed, its output in a log of its own; stops the script if it fails.
stage() {
    local name=$1 started=$SECONDS; shift
    case $name in
        serve*) ;; # a server that answers is not started again, and one that died is
        *) [ -e "$WORK/done/$name" ] && { say "$name: done before"; return; } ;;
    esac
    say "$name: starts"
    if "$@" >"$WORK/logs/$name.log" 2>&1; then
        echo "$name $((SECONDS - started))" >>"$WORK/results/seconds.txt"
        touch "$WORK/done/$name"
        say "$name: $((SECONDS - started)) s; $(tail -n 1 "$WORK/logs/$name.log" | cut -c1-160)"
    else
        say "$name: FAILED after $((SECONDS - started)) s"; tail -n 25 "$WORK/logs/$name.log"; exit 1
    fi
}

# serve DIR NAME PORT CACHE FURTHER...: an OpenAI-compatible server in the background, unless the port answers already.
# CACHE is bytes, not a share of the GPU: servers that start side by side would take each other's memory for their own.
serve() {
    local directory=$1 name=$2 port=$3 cache=$4; shift 4
    answers "$port" && return
    if [ "$SERVE" = vllm ]; then
        CUDA_VISIBLE_DEVICES=${SOLVER_GPU:-0} VLLM_CACHE_ROOT=$WORK/cache-$port VLLM_ALLOW_RUNTIME_LORA_UPDATING=${RUNTIME_LORA:-False} \
            setsid nohup $PYTHON -m vllm.entrypoints.cli.main serve "$directory" \
            --served-model-name "$name" --port "$port" --max-model-len "${MODEL_LEN:-6144}" --max-num-seqs 256 \
            --gpu-memory-utilization 0.08 --kv-cache-memory-bytes "$cache" "$@" \
            >"$WORK/logs/server-$port.log" 2>&1 </dev/null &
    else
        setsid nohup $SERVE "$directory" "$name" "$port" "$cache" "$@" >"$WORK/logs/server-$port.log" 2>&1 </dev/null &
    fi
    echo $! >"$WORK/server-$port.pid"
}

answers() { curl -sf "http://localhost:$1/v1/models" >/dev/null 2>&1; }

await() {
    local port waited=0
    for port in "$@"; do
        until answers "$port"; do
            sleep 2; waited=$((waited + 2))
            [ $waited -gt 420 ] && { echo "no server on port $port after $waited s"; return 1; }
        done
    done
    echo "servers on $* answer after $waited s"
}
